import { atOnce } from "../../contract/machine/pausable.ts";
import { asRanked } from "../../evaluate/forecast-rows.ts";
import { sortedByDate } from "../../evaluate/rows-by-date.ts";
import { finiteOrNull, mean, median } from "../../evaluate/statistics.ts";
import { columnChart } from "../charts/column-chart.ts";
import { type OutputEvidence, whyNoOrder } from "../evidence/output-evidence.ts";
import { bandFigure, countedRows, figure, NO_FIGURE, wholePercent } from "../figures.ts";
import { keyLine, linePanel, meanPanel, numbersTable, type Panel } from "../panels/panel.ts";
import { chartSection, type Part, panelsOf } from "../panels/section.ts";
import { type HorizonSkill, horizonSkill } from "../statistics/horizon-skill.ts";
import { type Band, meanBand } from "../statistics/over-dates.ts";
import { type QuantileReturns, quantileCount, quantileReturns } from "../statistics/quantile-returns.ts";
import { cumulative, ROLLING_DATES, rollingMean } from "../statistics/running-sums.ts";
import { type SpreadAfterCosts, spreadAfterCosts, type Turnover, turnover } from "../statistics/turnover.ts";

/** What the order of the forecasts is worth. */
export const orderSection = chartSection({
  id: "order",
  title: "Value of the order",
  short: "Order",
  isByRows: true,
  needsReturns: true,
  lead: "Returns in this section are simple returns, because they measure how money grows. The figures are not those of a strategy: they assume trades at the same close from which the forecasts are made.",
  panels: ({ common }) => panelsOf("Order", orderWorth(common), orderPanels),
});

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
  /** Absent if no two successive dates have three tickers in common. */
  readonly turnover:
    | {
        readonly days: Int32Array;
        /** Spearman correlation of the forecasts of a date with those of the previous date, over the tickers of both. */
        readonly autocorrelation: Float64Array;
        /** Mean over the last `rollingDates`, NaN before. */
        readonly rolling: Float64Array;
        readonly rollingDates: number;
        readonly mean: number;
        /** Mean shares of the top and bottom that were not in them on the previous date; NaN if no date has such a share. */
        readonly topReplaced: number;
        readonly bottomReplaced: number;
        readonly finding: string;
      }
    | undefined;
  /** The IC over 1 to 20 days; without horizons for which no date counts. */
  readonly horizons: readonly HorizonSkill[];
  readonly horizonsFinding: string;
  /** Absent if no date has both a spread and a turnover. */
  readonly costs: (SpreadAfterCosts & { readonly finding: string }) | undefined;
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

/** A hundredth of a percent. */
const BASIS_POINT = 1e-4;

/** Costs per side: for a large stock, a smaller one, and one that is hard to trade. */
const COSTS = [0, 1, 5, 10].map((points) => points * BASIS_POINT);

/** Where shrinkage multiplied forecasts by 0, the model's own have an order. */
function rankedEvidence({ document, dates, byDate, rows, labelled }: OutputEvidence) {
  if (document.mu_model === undefined) return { dates, byDate, rows };
  return { dates, byDate: atOnce(sortedByDate(labelled.map(asRanked))), rows: rows.map(asRanked) };
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
  const stays = turnover(rows, count);
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
      turnover: turnoverOf(stays),
      horizons,
      horizonsFinding: horizonsFinding(horizons),
      costs: costsOf(spread, stays),
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

function turnoverOf({ days, autocorrelation, replaced }: Turnover): OrderWorth["turnover"] {
  if (days.length === 0) return undefined;
  const centre = mean(autocorrelation);
  const [topReplaced, bottomReplaced] = [mean(replaced.top), mean(replaced.bottom)];
  const text = Number.isNaN(topReplaced)
    ? ""
    : `. Each day, ${figure(topReplaced, "share")} of the top quantile and ${figure(bottomReplaced, "share")} of the bottom quantile were replaced`;
  return {
    days,
    autocorrelation,
    rolling: rollingMean(autocorrelation, ROLLING_DATES),
    rollingDates: ROLLING_DATES,
    mean: centre,
    topReplaced,
    bottomReplaced,
    finding: `The rank correlation of the forecasts of successive dates was ${figure(centre, "ic")} on average (1 means that the order stays the same)${text}.`,
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

/** A cost in whole basis points. */
function basisPoints(cost: number): string {
  return `${Math.round(cost / BASIS_POINT)} bp`;
}

function costsOf(spread: QuantileReturns["spread"], { replaced }: Turnover): OrderWorth["costs"] {
  const found = spreadAfterCosts(spread, replaced, COSTS);
  if (found === undefined) return undefined;
  const { traded, breakEven, nets } = found;
  const text = nets.slice(1).map(({ cost, mean: net }) => `${figure(net, "return")} at ${basisPoints(cost)}`);
  const much = `Daily purchases and sales amount to ${figure(traded, "share")} of the holdings of one quantile`;
  const left = `after costs per side, the spread is ${text.join(", ")}`;
  const end =
    breakEven > 0 && Number.isFinite(breakEven)
      ? `, and it is 0 at ${figure(breakEven / BASIS_POINT, "sum")} bp`
      : "";
  return { ...found, finding: `${much}; ${left}${end}.` };
}

function orderPanels(order: OrderWorth): Panel[] {
  const { turnover: stays, costs } = order;
  return [
    quantilesPanel(order),
    spreadPanel(order.spread),
    ...(costs === undefined ? [] : [costsPanel(costs)]),
    horizonsPanel(order),
    ...(stays === undefined ? [] : [turnoverPanel(stays)]),
  ];
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
  const panel = linePanel({
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
  return { ...panel, tab: { card: "spread", label: "Top minus bottom" } };
}

function costsPanel({ nets, dates, finding }: NonNullable<OrderWorth["costs"]>): Panel {
  const panel = meanPanel({
    title: "Top minus bottom, after costs",
    finding,
    unit: "return",
    meaning: "mean daily spread, by cost per purchase or sale",
    caption: "spread after costs",
    headings: ["Cost per side", "Spread"],
    isJudged: true,
    means: nets.map(({ cost, ...net }) => ({ name: basisPoints(cost), dates, ...net })),
  });
  return { ...panel, tab: { card: "spread", label: "After costs" } };
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

function turnoverPanel(stays: NonNullable<OrderWorth["turnover"]>): Panel {
  const { days, autocorrelation, rolling, rollingDates, finding } = stays;
  const isLong = !rolling.every(Number.isNaN);
  const name = isLong ? `mean of ${rollingDates} dates` : "daily";
  return linePanel({
    title: "Persistence of the order",
    finding,
    days,
    values: isLong ? rolling : autocorrelation,
    unit: "ic",
    name,
    meaning: `rank autocorrelation of the forecasts from one date to the next, ${name}`,
    level: { value: 0 },
    columns: [
      ["Daily", autocorrelation],
      [`Mean of ${rollingDates} dates`, rolling],
    ],
  });
}
