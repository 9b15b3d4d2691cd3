import type { PreparedBlobs, PrepareOptions } from "../../../client/index.ts";
import { counted } from "../../words.ts";
import type { Field } from "../fields/schema-fields.ts";

/** The options of a preparation, by the names of the request's query. */
export const PREPARE_FIELDS: readonly Field[] = [
  field(
    "id",
    "Part of the names of both blobs: 1 to 64 letters, digits, _ or -. Default: a digest of everything that the blobs depend on.",
  ),
  field("start", "The first date in the blobs. Earlier prices still contribute to the features."),
  field("end", "The last date in the blobs."),
  field(
    "learning_end",
    "The last date whose returns a job may learn from. Later returns are used to judge the job.",
  ),
  field("tickers", "Comma-separated; leave empty for all."),
];

/** Those that are dates. */
export const DATES: ReadonlySet<string> = new Set(["start", "end", "learning_end"]);

function field(name: string, description: string): Field {
  const part = { path: ["query", name], name, description, isRequired: false };
  return { ...part, kind: "text", byDefault: undefined, choices: [], bounds: {} };
}

/** The options of a request. @param said the text of each field, by its name. */
export function prepareOptions(said: ReadonlyMap<string, string>): Omit<PrepareOptions, "signal"> {
  const text = (name: string) => said.get(name)?.trim() || undefined;
  const tickers = text("tickers")
    ?.split(",")
    .map((ticker) => ticker.trim())
    .filter((ticker) => ticker !== "");
  return {
    id: text("id"),
    start: text("start"),
    end: text("end"),
    learning_end: text("learning_end"),
    tickers: tickers?.length === 0 ? undefined : tickers,
  };
}

/** The result of a preparation, in sentences. */
export function preparedInWords(prepared: PreparedBlobs): readonly string[] {
  const { ticker_count, dates, start, end, learning_end, features, written } = prepared;
  return [
    `${counted(ticker_count, "ticker")}, ${counted(dates, "date")} from ${start} to ${end}, ${counted(features.length, "feature")} each.`,
    learning_end === null
      ? "Without a training cut-off, a job learns from all dates."
      : `A job learns from returns up to ${learning_end}.`,
    written ? "Both blobs are stored." : "Both blobs were already stored, with the same bytes.",
  ];
}
