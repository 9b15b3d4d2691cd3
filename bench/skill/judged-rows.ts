import { readFileSync } from "node:fs";
import { type Day, parseDay } from "../../src/contract/market/dates.ts";
import { mean } from "../../src/evaluate/statistics.ts";
import { labelPrices } from "../../src/panel/labels.ts";

/** The rows of one ticker that forecasts are judged on. */
export interface JudgedTicker {
  readonly ticker: string;
  /** Shape (n), ascending. */
  readonly days: Int32Array;
  /** Shape (n): log-return to the next price, finite. */
  readonly realised: Float64Array;
  /** Mean of the returns that are known at the cut. */
  readonly trainingMean: number;
}

/** Price columns as `mucast prepare` writes them. */
interface PriceBlob {
  readonly dates: readonly string[];
  readonly prices: Readonly<Record<string, readonly (number | null)[]>>;
}

/**
 * The rows whose label is known after the cut, from the price blob alone. Tickers without a label up to the cut, or after it, are dropped.
 * @param until the last date of a row.
 */
export function judgedRows(pricePath: string, cut: Day, until: Day): JudgedTicker[] {
  const { dates, prices } = JSON.parse(readFileSync(pricePath, "utf8")) as PriceBlob;
  const days = dates.map((date) => parseDay(date)!);
  return Object.entries(prices).flatMap(([ticker, column]) => {
    const priced = column.flatMap((price, i) => (price === null ? [] : [{ day: days[i]!, price }]));
    const own = Int32Array.from(priced, ({ day }) => day);
    const { y, labelDays } = labelPrices(
      own,
      Float64Array.from(priced, ({ price }) => price),
    );
    const known = y.filter((value, i) => !Number.isNaN(value) && labelDays[i]! <= cut);
    const judged = Array.from(own.keys()).filter((i) => labelDays[i]! > cut && own[i]! <= until);
    if (known.length === 0 || judged.length === 0) return [];
    return {
      ticker,
      days: Int32Array.from(judged, (i) => own[i]!),
      realised: Float64Array.from(judged, (i) => y[i]!),
      trainingMean: mean(known),
    };
  });
}
