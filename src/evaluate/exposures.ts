import type { TickerExposures } from "../contract/market/ticker-series.ts";
import { MIN_ORDER_TICKERS } from "../contract/output/later-close.ts";
import { EXPOSURES, type ExposureTable } from "../contract/output/metrics-schemas.ts";
import { type DatedForecasts, inTickerOrder, valuesAt } from "./forecast-rows.ts";
import { meanWithT } from "./mean-test.ts";
import { dateLayout, datesWith, valuesByDate } from "./rows-by-date.ts";
import { correlation, deviation, isConstant, mean, rootMeanSquare } from "./statistics.ts";

/** Five exposures and a constant leave at least half of the degrees of freedom. */
const MIN_RESIDUAL_TICKERS = 12;

/** What a regression leaves is rounding if it is below this share of the values. */
const ROUNDING = 1e-6;

/**
 * What forecasts have in common with exposures to prices, date by date: their correlation with each across the tickers that have it, and
 * the IC of what all of them together leave of the forecasts (a semipartial correlation), beside the IC over the same dates.
 * @param rows tickers in any order; NaN for labels that are not known.
 */
export function exposureTable(
  rows: readonly DatedForecasts[],
  exposures: ReadonlyMap<string, TickerExposures>,
): ExposureTable {
  const ordered = inTickerOrder(rows);
  const layout = dateLayout(ordered);
  const laid = (of: (row: DatedForecasts) => Float64Array) => valuesByDate(layout, ordered.map(of));
  const predicted = laid((row) => row.predicted);
  const realised = laid((row) => row.realised);
  const columns = EXPOSURES.map((_, c) => laid((row) => columnOf(row, exposures, c)));
  const known = [realised, ...columns];
  const correlations: number[][] = EXPOSURES.map(() => []);
  const [ics, residualIcs]: [number[], number[]] = [[], []];
  for (const { from, to } of datesWith(layout, MIN_ORDER_TICKERS)) {
    const places = Array.from({ length: to - from }, (_, i) => from + i);
    for (const [c, column] of columns.entries()) {
      const having = places.filter((i) => !Number.isNaN(column[i]!));
      if (having.length < MIN_ORDER_TICKERS) continue;
      const found = correlation(valuesAt(predicted, having), valuesAt(column, having));
      if (found !== null) correlations[c]!.push(found);
    }
    const whole = places.filter((i) => known.every((values) => !Number.isNaN(values[i]!)));
    const [p, y] = [valuesAt(predicted, whole), valuesAt(realised, whole)];
    if (whole.length < MIN_RESIDUAL_TICKERS || isConstant(p) || isConstant(y)) continue;
    const rest = residualOf(
      p,
      columns.map((column) => valuesAt(column, whole)),
    );
    ics.push(correlation(p, y)!);
    residualIcs.push(correlation(rest, y) ?? 0);
  }
  const [ic, residual] = [meanWithT(Float64Array.from(ics)), meanWithT(Float64Array.from(residualIcs))];
  return {
    dates: ics.length,
    ic_mean: ic.mean,
    ic_t: ic.t,
    residual: { ic_mean: residual.mean, ic_t: residual.t },
    by_exposure: EXPOSURES.map((name, c) => {
      const own = meanWithT(Float64Array.from(correlations[c]!));
      return { name, dates: correlations[c]!.length, correlation_mean: own.mean, correlation_t: own.t };
    }),
  };
}

/** Shape (rows): one exposure at the dates of the rows. */
function columnOf(
  { ticker, days }: DatedForecasts,
  exposures: ReadonlyMap<string, TickerExposures>,
  column: number,
): Float64Array {
  const own = exposures.get(ticker);
  const values = new Float64Array(days.length).fill(Number.NaN);
  if (own === undefined) return values;
  for (let i = 0, at = 0; i < days.length; i++) {
    while (at < own.days.length && own.days[at]! < days[i]!) at++;
    if (own.days[at] === days[i]) values[i] = own.values[at * EXPOSURES.length + column]!;
  }
  return values;
}

/**
 * The residual of a regression of values on columns and a constant, by Gram and Schmidt; exactly 0 if nothing is left but rounding. Columns
 * that are constant, or sums of those before, take nothing away.
 */
function residualOf(values: Float64Array, columns: readonly Float64Array[]): Float64Array {
  const basis: Float64Array[] = [];
  for (const column of columns) {
    const size = deviation(column);
    if (!(size > 0)) continue;
    const rest = without(
      centred(column).map((value) => value / size),
      basis,
    );
    const length = rootMeanSquare(rest);
    if (length > ROUNDING) basis.push(rest.map((value) => value / length));
  }
  const rest = without(centred(values), basis);
  return rootMeanSquare(rest) > ROUNDING * deviation(values) ? rest : rest.fill(0);
}

function centred(values: Float64Array): Float64Array {
  const centre = mean(values);
  return values.map((value) => value - centre);
}

/** The values without their parts along columns of root mean square 1; twice, because the first time leaves rounding. */
function without(values: Float64Array, basis: readonly Float64Array[]): Float64Array {
  const rest = values.slice();
  for (const column of [...basis, ...basis]) {
    let product = 0;
    for (let i = 0; i < rest.length; i++) product += rest[i]! * column[i]!;
    for (let i = 0; i < rest.length; i++) rest[i]! -= (product / rest.length) * column[i]!;
  }
  return rest;
}
