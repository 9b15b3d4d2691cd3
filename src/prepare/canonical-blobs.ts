import { type Day, formatDay } from "../contract/market/dates.ts";
import type { RequestedWindow, TickerFeatures, TickerPrices } from "../contract/market/ticker-series.ts";

/**
 * The text of a canonical data-extraction blob, in pieces.
 * @param dates the rows, ascending. A ticker's values on other days are omitted, and its missing values are null.
 */
export function* dataExtractorText(
  window: Required<Pick<RequestedWindow, "start" | "end">> & RequestedWindow,
  dates: Int32Array,
  tickers: Iterable<TickerPrices>,
): Generator<string> {
  yield `{"start":${dateText(window.start)},"end":${dateText(window.end)},`;
  if (window.learningEnd !== undefined) yield `"Learning_end":${dateText(window.learningEnd)},`;
  yield `"dates":${datesText(dates)},"prices":{`;
  let separator = "\n";
  for (const { ticker, days, prices } of tickers) {
    yield `${separator}${JSON.stringify(ticker)}:${columnText(dates, days, prices)}`;
    separator = ",\n";
  }
  yield "\n}}\n";
}

/** The text of a canonical feature blob, in pieces; rows as in `dataExtractorText`. */
export function* featureEngineText(dates: Int32Array, tickers: Iterable<TickerFeatures>): Generator<string> {
  yield `{"dates":${datesText(dates)},"features":{`;
  let separator = "\n";
  for (const { ticker, days, columns, values } of tickers) {
    yield `${separator}${JSON.stringify(ticker)}:{`;
    for (const [c, name] of columns.entries()) {
      const column = values.subarray(c * days.length, (c + 1) * days.length);
      yield `${c === 0 ? "" : ","}${JSON.stringify(name)}:${columnText(dates, days, column)}`;
    }
    yield "}";
    separator = ",\n";
  }
  yield "\n}}\n";
}

function dateText(day: Day): string {
  return `"${formatDay(day)}"`;
}

function datesText(dates: Int32Array): string {
  return `[${Array.from(dates, dateText).join(",")}]`;
}

/** Numbers as JavaScript prints them: the shortest text that reads back as the same float64. */
function columnText(dates: Int32Array, days: Int32Array, values: Float64Array): string {
  const cells: string[] = [];
  let row = 0;
  for (const date of dates) {
    while (row < days.length && days[row]! < date) row++;
    const value = days[row] === date ? values[row]! : Number.NaN;
    cells.push(Number.isFinite(value) ? String(value) : "null");
  }
  return `[${cells.join(",")}]`;
}
