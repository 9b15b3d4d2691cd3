import { neweyWestT } from "../../../evaluate/newey-west.ts";
import { mean, median } from "../../../evaluate/statistics.ts";
import type { OutputEvidence } from "../../evidence/output-evidence.ts";
import { meanBand } from "../../statistics/over-dates.ts";
import { quantileCount, quantileReturns } from "../../statistics/quantile-returns.ts";
import { cumulative, rollingMean } from "../../statistics/running-sums.ts";
import { turnover } from "../../statistics/turnover.ts";
import { bandFigure, countedRows, figure, wholePercent } from "../figures.ts";
import type { Part } from "../report-data.ts";
import type { OrderWorth, QuantileReturn } from "../section-data.ts";
import { ROLLING_DATES } from "./skill-over-time.ts";
import { whyNoOrder } from "./why-absent.ts";

/** What the order of the forecasts was worth, before costs. */
export function orderWorth(evidence: OutputEvidence): Part<OrderWorth> {
  const { dates, byDate, rows } = evidence;
  if (dates.days.length === 0) return { absent: whyNoOrder(evidence) };
  const count = quantileCount(median(Float64Array.from(dates.tickers))!);
  const { quantiles, spread } = quantileReturns(byDate, count);
  if (spread.days.length === 0) {
    return { absent: "On no date do forecasts differ enough to part the tickers into quantiles." };
  }
  const returns = quantiles.flatMap(({ predicted, realised }, q): QuantileReturn[] =>
    realised.length === 0
      ? []
      : [
          {
            quantile: q + 1,
            dates: realised.length,
            realised: mean(realised),
            predicted: mean(predicted),
            band: meanBand(realised),
          },
        ],
  );
  return {
    data: {
      quantiles: returns,
      quantilesFinding: quantilesFinding(returns),
      spread: spreadOf(spread, count),
      turnover: turnoverOf(rows, count),
    },
  };
}

function quantilesFinding(returns: readonly QuantileReturn[]): string {
  const [bottom, top] = [returns[0]!, returns.at(-1)!];
  const rising = returns.slice(1).filter(({ realised }, i) => realised > returns[i]!.realised).length;
  return `Tickers with the highest forecasts returned ${figure(top.realised, "return")} a day, those with the lowest ${figure(bottom.realised, "return")}; from one quantile to the next the return rose ${figure(rising, "count")} of ${countedRows(returns.length - 1, "time")}.`;
}

function spreadOf(
  { days, values }: { days: Int32Array; values: Float64Array },
  count: number,
): OrderWorth["spread"] {
  const centre = mean(values);
  const band = meanBand(values);
  const summed = cumulative(values);
  const named = { 3: "third", 5: "fifth", 10: "tenth" }[count] ?? "quantile";
  const all = `The top ${named} less the bottom ${named} added up to ${figure(summed.at(-1)!, "return")} over ${countedRows(days.length, "date")}, ${figure(centre, "return")} a day`;
  const within = band === null ? "" : ` (${wholePercent(95)} band ${bandFigure(band, "return")})`;
  const doubt = band !== null && band.low > 0 ? "more than chance gives" : "no more than chance gives";
  const judged = band === null ? "" : centre > 0 ? `, ${doubt}` : "";
  return {
    days,
    values,
    summed,
    mean: centre,
    t: neweyWestT(values),
    finding: `${all}${within}${judged}; before costs, not a strategy.`,
  };
}

function turnoverOf(rows: OutputEvidence["rows"], count: number): OrderWorth["turnover"] {
  const { days, autocorrelation, topReplaced } = turnover(rows, count);
  if (days.length === 0) return undefined;
  const centre = mean(autocorrelation);
  const replaced = Number.isNaN(topReplaced)
    ? ""
    : `; ${figure(topReplaced, "share")} of the top quantile was replaced each day`;
  return {
    days,
    autocorrelation,
    rolling: rollingMean(autocorrelation, ROLLING_DATES),
    rollingDates: ROLLING_DATES,
    mean: centre,
    topReplaced,
    finding: `From one date to the next the order of the forecasts correlated by ${figure(centre, "number")} (1 is an order that stays)${replaced}.`,
  };
}
