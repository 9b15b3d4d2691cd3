import { formatDay } from "../contract/market/dates.ts";
import { COLUMNS, type Column } from "./columns.ts";
import type { ForecastPart } from "./forecast-parts.ts";

/**
 * The forecasts as CSV (RFC 4180, lines end with LF): a header, then one line per row. Numbers have the fewest digits that give the
 * same float64 back, dates are YYYY-MM-DD, and missing values are empty. Yields one piece of text per part.
 */
export function* forecastsCsv(parts: Iterable<ForecastPart>): Generator<string> {
  yield `${COLUMNS.map(({ name }) => name).join(",")}\n`;
  for (const part of parts) {
    let text = "";
    for (let row = 0; row < part.days.length; row++) {
      text += `${COLUMNS.map((column) => cell(column, part, row)).join(",")}\n`;
    }
    if (text !== "") yield text;
  }
}

function cell(column: Column, part: ForecastPart, row: number): string {
  const value = column.of(part, row);
  if (value === undefined || Number.isNaN(value)) return "";
  switch (column.kind) {
    case "text":
      return quoted(value as string);
    case "date":
      return formatDay(value as number);
    case "integer":
    case "number":
      return Object.is(value, -0) ? "-0" : String(value);
    default:
      return column satisfies never;
  }
}

function quoted(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
