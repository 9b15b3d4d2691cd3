import { neweyWestT } from "../../../evaluate/newey-west.ts";
import { finiteOrNull, mean, median } from "../../../evaluate/statistics.ts";
import type { OutputEvidence } from "../../evidence/output-evidence.ts";
import { type HorizonSkill, horizonSkill } from "../../statistics/horizon-skill.ts";
import { meanBand } from "../../statistics/over-dates.ts";
import { type QuantileReturns, quantileCount, quantileReturns } from "../../statistics/quantile-returns.ts";
import { cumulative, rollingMean } from "../../statistics/running-sums.ts";
import { spreadAfterCosts } from "../../statistics/spread-after-costs.ts";
import { type Turnover, turnover } from "../../statistics/turnover.ts";
import { bandFigure, countedRows, figure, wholePercent } from "../figures.ts";
import type { Part } from "../report-data.ts";
import type { OrderWorth, QuantileReturn } from "../section-data.ts";
import { ROLLING_DATES } from "./skill-over-time.ts";
import { whyNoOrder } from "./why-absent.ts";

/** The horizons, in days, over which forecasts are compared with returns. */
const HORIZONS = [1, 2, 5, 10, 20];

/** A hundredth of a percent. */
const BASIS_POINT = 1e-4;

/** Costs per side: for a large stock, a smaller one, and one that is hard to trade. */
const COSTS = [0, 1, 5, 10].map((points) => points * BASIS_POINT);

/** What the order of the forecasts is worth. */
export function orderWorth(evidence: OutputEvidence): Part<OrderWorth> {
  const { dates, byDate, rows } = evidence;
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
    t: neweyWestT(values),
    finding: `${all}${within}${judged}. This is before costs and not a strategy.`,
  };
}

function turnoverOf({ days, autocorrelation, replaced }: Turnover): OrderWorth["turnover"] {
  if (days.length === 0) return undefined;
  const centre = mean(autocorrelation);
  const [topReplaced, bottomReplaced] = [mean(replaced.top), mean(replaced.bottom)];
  const text = Number.isNaN(topReplaced)
    ? ""
    : `. Each day, ${figure(topReplaced, "share")} of the top quantile and ${figure(bottomReplaced, "share")} of the bottom quantile was replaced`;
  return {
    days,
    autocorrelation,
    rolling: rollingMean(autocorrelation, ROLLING_DATES),
    rollingDates: ROLLING_DATES,
    mean: centre,
    topReplaced,
    bottomReplaced,
    finding: `The rank correlation of the forecasts of successive dates was ${figure(centre, "number")} on average (1 means that the order stays the same)${text}.`,
  };
}

function horizonsFinding(horizons: readonly HorizonSkill[]): string {
  if (horizons.length === 0) return "No returns over several days are known yet.";
  const text = horizons.map(
    ({ horizon, ic }) => `${figure(ic, "number")} over ${countedRows(horizon, "day")}`,
  );
  const banded = horizons.filter(({ band }) => band !== null);
  const above = banded.filter(({ band }) => band!.low > 0).map(({ horizon }) => horizon);
  const judged =
    banded.length === 0
      ? "too few dates for a band"
      : above.length === 0
        ? `no ${wholePercent(95)} band is above 0`
        : `the ${wholePercent(95)} band is above 0 over ${above.join(", ")} ${above.length === 1 && above[0] === 1 ? "day" : "days"}`;
  return `The mean IC was ${text.join(", ")}; ${judged}.`;
}

/** A cost in whole basis points. */
export function basisPoints(cost: number): string {
  return `${Math.round(cost / BASIS_POINT)} bp`;
}

function costsOf(spread: QuantileReturns["spread"], { replaced }: Turnover): OrderWorth["costs"] {
  const found = spreadAfterCosts(spread, replaced, COSTS);
  if (found === undefined) return undefined;
  const { traded, breakEven, nets } = found;
  const text = nets.slice(1).map(({ cost, mean: net }) => `${figure(net, "return")} at ${basisPoints(cost)}`);
  const much = `Daily purchases and sales amount to ${figure(traded, "share")} of the holdings of one end`;
  const left = `after costs per side, the spread is ${text.join(", ")}`;
  const end =
    breakEven > 0 && Number.isFinite(breakEven)
      ? `, and it is 0 at ${figure(breakEven / BASIS_POINT, "number")} bp`
      : "";
  return { ...found, finding: `${much}; ${left}${end}.` };
}
