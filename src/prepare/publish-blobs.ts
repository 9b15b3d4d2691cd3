import { open } from "node:fs/promises";
import { nameTaken, throwIfAborted } from "../blob/blob-errors.ts";
import { discardStaged, publishStaged, type StagedFile, stageFile } from "../blob/folder/staged-file.ts";
import type { Content } from "../blob/store.ts";
import { type Day, formatDay } from "../contract/market/dates.ts";
import type { RequestedWindow, TickerFeatures, TickerPrices } from "../contract/market/ticker-series.ts";

/**
 * Publishes files that belong together: all are complete on disk before the first gets its name. A file that exists with the same bytes is
 * not touched.
 * @param limit bytes of each.
 * @returns their paths, and whether any was new.
 */
export async function publishBlobs(
  folder: string,
  files: readonly { readonly name: string; readonly content: Content }[],
  { signal, limit }: { readonly signal?: AbortSignal | undefined; readonly limit?: number | undefined } = {},
): Promise<{ paths: string[]; written: boolean }> {
  const staged: StagedFile[] = [];
  let written = false;
  try {
    for (const { name, content } of files)
      staged.push(await stageFile(folder, name, content, { signal, limit }));
    for (const file of staged) if ((await sameBytes(file)) === false) throw nameTaken(file.target);
    throwIfAborted(signal, "writing", folder);
    for (const file of staged) {
      if (await publishStaged(file)) written = true;
      else if (!(await sameBytes(file))) throw nameTaken(file.target);
    }
  } finally {
    // In reverse, so that the folder that was created for the first is empty in the end if nothing was published.
    for (const file of staged.reverse()) await discardStaged(file);
  }
  return { paths: staged.map(({ target }) => target).reverse(), written };
}

const BLOCK_BYTES = 2 ** 20;

/** @returns undefined if the target does not exist. */
async function sameBytes({ path, target }: StagedFile): Promise<boolean | undefined> {
  const there = await open(target, "r").catch(() => undefined);
  if (there === undefined) return undefined;
  const staged = await open(path, "r");
  try {
    for (;;) {
      const [a, b] = await Promise.all([
        there.read(Buffer.alloc(BLOCK_BYTES), 0, BLOCK_BYTES, null),
        staged.read(Buffer.alloc(BLOCK_BYTES), 0, BLOCK_BYTES, null),
      ]);
      if (!a.buffer.subarray(0, a.bytesRead).equals(b.buffer.subarray(0, b.bytesRead))) return false;
      if (a.bytesRead === 0) return true;
    }
  } finally {
    await Promise.all([there.close(), staged.close()]);
  }
}

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
  for (const value of valuesAt(dates, days, values))
    cells.push(Number.isFinite(value) ? String(value) : "null");
  return `[${cells.join(",")}]`;
}

/** The values of a column on these dates, ascending like its days; NaN where it has none. */
export function valuesAt(dates: Int32Array, days: Int32Array, values: Float64Array): Float64Array {
  const found = new Float64Array(dates.length).fill(Number.NaN);
  for (let i = 0, row = 0; i < dates.length; i++) {
    while (row < days.length && days[row]! < dates[i]!) row++;
    if (days[row] === dates[i]) found[i] = values[row]!;
  }
  return found;
}
