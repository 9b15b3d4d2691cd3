import { closeName } from "../../contract/output/later-close.ts";
import type { ExposureTable } from "../../contract/output/metrics-schemas.ts";
import { bandFromT, datesQuantile, meanMethod } from "../../contract/output/test-quantile.ts";
import { asRanked } from "../../evaluate/forecast-rows.ts";
import { sortedByDate } from "../../evaluate/rows-by-date.ts";
import { finiteOrNull, mean, median } from "../../evaluate/statistics.ts";
import { bandFigure, countedRows, figure, NO_FIGURE, wholePercent } from "../../view/figures.ts";
import { columnChart } from "../charts/column-chart.ts";
import { type OutputEvidence, whyNoOrder } from "../evidence/output-evidence.ts";
import type { ReportedOutput } from "../evidence/reported-outputs.ts";
import { keyLine, linePanel, meanPanel, numbersTable, type Panel } from "../panels/panel.ts";
import { chartSection, type Part, panelsOf } from "../panels/section.ts";
import { type HorizonSkill, horizonSkill } from "../statistics/horizon-skill.ts";
import { type Band, meanBand } from "../statistics/over-dates.ts";
import { quantileCount, quantileReturns } from "../statistics/quantile-returns.ts";
import { cumulative } from "../statistics/running-sums.ts";
import { halfLifePanels } from "./half-lives.ts";

/** What the order of the forecasts is worth. */
export const orderSection = chartSection({
  id: "order",
  title: "Value of the order",
  short: "Order",
  isByRows: true,
  needsReturns: true,
  lead: leadOf,
  panels: ({ common }) => [
    ...panelsOf("Order", orderWorth(common), orderPanels),
    ...halfLifePanels(common),
    ...exposurePanels(common),
  ],
});

function leadOf(outputs: readonly ReportedOutput[]): string {
  const orders = outputs.flatMap(({ common }) => common.document.metrics[common.judgedRows]?.by_delay ?? []);
  // Outputs with different delays are refused.
  const close = labelClose(outputs[0]?.common.document.window.delay ?? 0);
  const table =
    orders.length === 0
      ? ""
      : ' The table <a href="#verdict">by close</a> has later closes, turnover and costs.';
  return `Returns are simple returns, because they measure how money grows. Trades are ${close}, and free of costs.${table}`;
}

function labelClose(delay: number): string {
  return delay === 0
    ? "at the very close from which the forecasts are made, which a job that starts after it cannot reach"
    : `${closeName(delay)} than the one from which the forecasts are made`;
}

/** The value of the forecasts' order, in simple returns. */
interface OrderWorth {
  /** From the lowest forecasts to the highest. */
  readonly quantiles: readonly QuantileReturn[];
  readonly quantilesFinding: string;
  /** Dates on which both the top and the bottom quantile have a ticker. */
  readonly spread: {
    readonly days: Int32Array;
    /** Mean simple return of the top quantile minus that of the bottom one. */
    readonly values: Float64Array;
    readonly summed: Float64Array;
    readonly mean: number;
    readonly finding: string;
  };
  /** The IC over 1 to 20 days; without horizons for which no date counts. */
  readonly horizons: readonly HorizonSkill[];
  readonly horizonsFinding: string;
}

interface QuantileReturn {
  /** Counted from 1, which has the lowest forecasts. */
  readonly quantile: number;
  readonly dates: number;
  /** Mean over dates of the mean realised simple return. */
  readonly realised: number;
  /** The same for the mean forecast; null beyond the range of a float64. */
  readonly predicted: number | null;
  readonly band: Band | null;
}

/** The horizons, in days, over which forecasts are compared with returns. */
const HORIZONS = [1, 2, 5, 10, 20];

/** Where shrinkage multiplied forecasts by 0, the model's own have an order. */
function rankedEvidence({ document, dates, byDate, rows, labelled }: OutputEvidence) {
  if (document.mu_model === undefined) return { dates, byDate, rows };
  return { dates, byDate: sortedByDate(labelled.map(asRanked)), rows: rows.map(asRanked) };
}

/** What the order of the forecasts is worth. */
export function orderWorth(evidence: OutputEvidence): Part<OrderWorth> {
  const { dates, byDate, rows } = rankedEvidence(evidence);
  if (dates.days.length === 0) return { absent: whyNoOrder(evidence) };
  const count = quantileCount(median(Float64Array.from(dates.tickers))!);
  const { quantiles, spread } = quantileReturns(byDate, count);
  if (spread.days.length === 0) {
    return { absent: "Forecasts differ too little on every date to sort the tickers into quantiles." };
  }
  const horizons = HORIZONS.flatMap((horizon) => horizonSkill(rows, horizon) ?? []);
  const returns = quantiles.flatMap(({ predicted, realised }, q): QuantileReturn[] =>
    realised.length === 0
      ? []
      : [
          {
            quantile: q + 1,
            dates: realised.length,
            realised: mean(realised),
            predicted: finiteOrNull(mean(predicted)),
            band: meanBand(realised),
          },
        ],
  );
  return {
    data: {
      quantiles: returns,
      quantilesFinding: quantilesFinding(returns),
      spread: spreadOf(spread, count),
      horizons,
      horizonsFinding: horizonsFinding(horizons),
    },
  };
}

function quantilesFinding(returns: readonly QuantileReturn[]): string {
  const [bottom, top] = [returns[0]!, returns.at(-1)!];
  const rising = returns.slice(1).filter(({ realised }, i) => realised > returns[i]!.realised).length;
  return `Tickers with the highest forecasts returned ${figure(top.realised, "return")} a day, those with the lowest ${figure(bottom.realised, "return")}. The return rose in ${figure(rising, "count")} of ${countedRows(returns.length - 1, "step")} from one quantile to the next.`;
}

function spreadOf(
  { days, values }: { days: Int32Array; values: Float64Array },
  count: number,
): OrderWorth["spread"] {
  const centre = mean(values);
  const band = meanBand(values);
  const summed = cumulative(values);
  const named = { 3: "third", 5: "fifth", 10: "tenth" }[count] ?? "quantile";
  const all = `The top ${named} minus the bottom ${named} adds up to ${figure(summed.at(-1)!, "return")} over ${countedRows(days.length, "date")}, ${figure(centre, "return")} a day`;
  const within = band === null ? "" : ` (${wholePercent(95)} band ${bandFigure(band, "return")})`;
  const doubt = band !== null && band.low > 0 ? "more than by chance" : "no more than by chance";
  const judged = band === null ? "" : centre > 0 ? `, ${doubt}` : "";
  return {
    days,
    values,
    summed,
    mean: centre,
    finding: `${all}${within}${judged}. This is before costs and not a strategy.`,
  };
}

function horizonsFinding(horizons: readonly HorizonSkill[]): string {
  if (horizons.length === 0) return "No returns over several days are known yet.";
  const text = horizons.map(({ horizon, ic }) => `${figure(ic, "ic")} over ${countedRows(horizon, "day")}`);
  const banded = horizons.filter(({ band }) => band !== null);
  const above = banded.filter(({ band }) => band!.low > 0).map(({ horizon }) => horizon);
  const judged =
    banded.length === 0
      ? "too few dates for a band"
      : above.length === 0
        ? `no ${wholePercent(95)} band is above 0`
        : `the ${wholePercent(95)} band is above 0 over ${inWords(above)} ${above.length === 1 && above[0] === 1 ? "day" : "days"}`;
  return `The mean IC was ${text.join(", ")}; ${judged}.`;
}

/** Such as `1, 2 and 5`. */
function inWords(numbers: readonly number[]): string {
  const [last, ...before] = numbers.toReversed();
  return before.length === 0 ? String(last) : `${before.toReversed().join(", ")} and ${last}`;
}

function orderPanels(order: OrderWorth): Panel[] {
  return [quantilesPanel(order), spreadPanel(order.spread), horizonsPanel(order)];
}

function quantilesPanel({ quantiles, quantilesFinding }: OrderWorth): Panel {
  return {
    title: "Return by forecast quantile",
    finding: quantilesFinding,
    chart: columnChart({
      finding: quantilesFinding,
      labels: quantiles.map(({ quantile }, i) =>
        i === 0 ? "lowest" : i === quantiles.length - 1 ? "highest" : String(quantile),
      ),
      unit: "return",
      series: [quantiles.map(({ realised }) => realised)],
      bands: quantiles.map(({ band }) => band),
      dots: quantiles.map(({ predicted }) => predicted),
    }),
    key: keyLine([
      ["bar", "mean realised simple return"],
      ["whisker", `its ${wholePercent(95)} band`],
      ["dot second", "mean forecast, as a simple return"],
    ]),
    numbers: numbersTable({
      caption: "return by forecast quantile",
      columns: ["Quantile", "Dates", "Realised", `${wholePercent(95)} band`, "Forecast"],
      rows: quantiles.map(({ quantile, dates, realised, band, predicted }) => [
        String(quantile),
        figure(dates, "count"),
        figure(realised, "return"),
        band === null ? NO_FIGURE : bandFigure(band, "return"),
        figure(predicted, "return"),
      ]),
    }),
  };
}

function spreadPanel({ days, values, summed, finding }: OrderWorth["spread"]): Panel {
  return linePanel({
    title: "Top minus bottom, cumulative",
    finding,
    days,
    values: summed,
    unit: "return",
    name: "cumulative spread",
    meaning: "cumulative return of the top quantile minus the bottom quantile, before costs; not a strategy",
    level: { value: 0 },
    columns: [
      ["Spread", values],
      ["Sum", summed],
    ],
  });
}

function horizonsPanel({ horizons, horizonsFinding: finding }: OrderWorth): Panel {
  if (horizons.length === 0) return { title: "IC by horizon", finding, chart: "" };
  return meanPanel({
    title: "IC by horizon",
    finding,
    unit: "ic",
    meaning: "mean IC of the forecasts with the summed returns of the following days",
    caption: "IC by horizon",
    headings: ["Days", "IC"],
    isJudged: true,
    means: horizons.map(({ horizon, dates, ic, band }) => ({
      name: String(horizon),
      label: `${horizon} d`,
      dates,
      mean: ic,
      band,
    })),
  });
}

/** What each exposure is, in words. */
const EXPOSURE_NAMES: Readonly<Record<string, readonly [label: string, name: string]>> = {
  beta_252: ["beta", "beta"],
  volatility_63: ["volatility", "volatility"],
  return_5: ["5 d", "the return of the last 5 dates"],
  return_21: ["21 d", "the return of the last 21 dates"],
  return_252: ["252 d", "the return of the last 252 dates"],
};

/** What the forecasts have in common with prices; nothing for an older output, or for too few tickers. */
function exposurePanels({ document, judgedRows }: OutputEvidence): Panel[] {
  const table = document.metrics[judgedRows]?.exposures;
  const means = (table?.by_exposure ?? []).flatMap(
    ({ name, dates, correlation_mean: centre, correlation_t: t }) =>
      centre === null
        ? []
        : [
            {
              name: nameOf(name)[1],
              label: nameOf(name)[0],
              dates,
              mean: centre,
              band: bandFromT(centre, t, datesQuantile(meanMethod(dates), dates, 0.975)),
            },
          ],
  );
  if (table === undefined || means.length === 0) return [];
  return [
    meanPanel({
      title: "Exposure to prices",
      finding: exposuresFinding(table, means),
      unit: "ic",
      meaning: "mean correlation of the forecasts with the exposure across the tickers of a date",
      caption: "correlation of the forecasts with exposures",
      headings: ["Exposure", "Correlation"],
      means,
    }),
  ];
}

function nameOf(exposure: string): readonly [label: string, name: string] {
  return Object.hasOwn(EXPOSURE_NAMES, exposure) ? EXPOSURE_NAMES[exposure]! : [exposure, exposure];
}

function exposuresFinding(
  { dates, ic_mean: ic, residual }: ExposureTable,
  means: readonly { readonly name: string; readonly mean: number }[],
): string {
  const [largest] = means.toSorted((a, b) => Math.abs(b.mean) - Math.abs(a.mean));
  const most = `The forecasts have the most in common with ${largest!.name}: a correlation of ${figure(largest!.mean, "ic")}.`;
  if (ic === null || residual.ic_mean === null) {
    return `${most} No date has 12 tickers with a return and all exposures.`;
  }
  const band = bandFromT(residual.ic_mean, residual.ic_t, datesQuantile(meanMethod(dates), dates, 0.95));
  const within = band === null ? "" : ` (${wholePercent(90)} band ${bandFigure(band, "ic")})`;
  return `${most} The mean IC is ${figure(ic, "ic")}, and ${figure(residual.ic_mean, "ic")}${within} beyond beta, volatility and past returns together, over ${countedRows(dates, "date")}.`;
}
