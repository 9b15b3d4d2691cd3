import { basename, dirname, join } from "node:path";
import { filePath, isRemoteUrl, isUrl } from "../blob/location.ts";
import { openBlob } from "../blob/open-blob.ts";
import { redactUrl } from "../blob/policy.ts";
import type { ErrorCode } from "../contract/errors/error-codes.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { type Day, formatDay } from "../contract/market/dates.ts";
import { compareCodePoints, priceSeries, type TickerSeries } from "../contract/market/ticker-series.ts";
import { type InputChange, REPLAY_LISTS, type ReplayBlob } from "../contract/output/replay-blob.ts";
import { readFeatures } from "../ingest/read-blob.ts";
import { readPrices } from "../ingest/read-prices.ts";
import type { JobContext } from "../jobs/shared/job.ts";
import type { RecordedFacts } from "./recorded-output.ts";
import { isRefusal, isUnread } from "./run-recorded.ts";

export type Reading = Pick<JobContext, "policy" | "report" | "signal"> & {
  /** BLOB_URL, possibly with its SAS; for blobs in that container. */
  readonly blobUrl?: string | undefined;
};

type InputKind = "feature" | "data_extractor";
type ShownInput = NonNullable<ReplayBlob["inputs"]>[InputKind];

/** Where the job reads its inputs. */
export type InputLocations = Readonly<Record<InputKind, string>>;

/** The inputs of an output, or why the job cannot run on what was found. */
type FoundInputs = { readonly inputs: NonNullable<ReplayBlob["inputs"]> } & (
  | { readonly locations: InputLocations }
  | { readonly code: "inputs_gone" | "inputs"; readonly message: string }
);

/** The location of an output, and the blobs that a caller names instead of the recorded ones. */
interface Places {
  readonly outputUrl: string;
  readonly featureUrl?: string | undefined;
  readonly dataExtractorUrl?: string | undefined;
}

/** Looks for the two input blobs of an output, and compares those that differ. @throws MucastError canceled. */
export async function findInputs(
  { provenance }: RecordedFacts,
  { outputUrl, featureUrl, dataExtractorUrl }: Places,
  reading: Reading,
  workFolder: string,
): Promise<FoundInputs> {
  const find = (kind: InputKind, given: string | undefined) =>
    findInput(provenance[`${kind}_url`], provenance[`${kind}_sha256`], given, outputUrl, reading);
  const feature = await find("feature", featureUrl);
  const data_extractor = await find("data_extractor", dataExtractorUrl);
  const inputs = { feature: feature.shown, data_extractor: data_extractor.shown };
  if (feature.location === undefined || data_extractor.location === undefined) {
    const gone = Object.values(inputs).filter(({ found }) => found === null);
    const tried = gone.flatMap((input) => input.tried.map(({ url, problem }) => `${url}: ${problem}`));
    const message = `cannot read ${gone.map(({ url }) => url).join(" and ")} (${tried.join("; ") || "no place to look"})`;
    return { inputs, code: "inputs_gone", message };
  }
  const locations = { feature: feature.location, data_extractor: data_extractor.location };
  const words: string[] = [];
  for (const [kind, { original, shown }] of [
    ["feature", feature],
    ["data_extractor", data_extractor],
  ] as const) {
    const { url, sha256, found } = shown;
    if (found!.sha256 === sha256) continue;
    let text = `${url} had the SHA-256 ${sha256}, and ${found!.url} has ${found!.sha256}`;
    const change = original && (await changeOf(kind, original, locations[kind], reading, workFolder));
    if (change) inputs[kind] = { ...shown, change };
    if (change && change.tickers.count + change.only_recorded.count + change.only_found.count === 0) {
      const window = kind === "feature" ? "" : "has another window, or ";
      text += `, though every value is the same: it ${window}is written or compressed in another way`;
    }
    words.push(text);
  }
  return words.length === 0 ? { inputs, locations } : { inputs, code: "inputs", message: words.join("; ") };
}

/** Codes of a location without a readable blob; other errors, such as a cancel, end the replay. */
const UNUSABLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "url_not_allowed",
  "blob_not_found",
  "blob_unavailable",
  "unreadable_blob",
  "too_large",
  "invalid_request",
]);

/**
 * Looks for the blob with the recorded digest at the caller's location, at the recorded URL, and beside the output under the recorded name. A
 * blob that the caller names is used even if its digest differs; the search then goes on for `original`, so that the two can be compared.
 */
async function findInput(
  url: string,
  sha256: string,
  given: string | undefined,
  output: string,
  reading: Reading,
): Promise<{ location: string | undefined; original: string | undefined; shown: ShownInput }> {
  const name = isUrl(url) ? url.split("/").at(-1)! : url;
  // An output may come from anywhere, so only names of files in the same folder are followed.
  const isPlain = /^[^/\\\p{C}\p{Zl}\p{Zp}?#%]{1,255}$/u.test(name) && name !== "." && name !== "..";
  const places = [given, isRemoteUrl(url) ? url : undefined, isPlain ? beside(output, name) : undefined];
  const tried: { url: string; problem: string }[] = [];
  let other: { location: string; sha256: string } | undefined;
  let original: string | undefined;
  for (const location of new Set(places)) {
    if (location === undefined) continue;
    try {
      const blob = await openBlob(location, reading.policy, reading);
      // The job reads it again.
      for await (const _ of counted(blob.chunks, reading));
      const found = blob.digest();
      if (found === sha256) {
        original = location;
        break;
      }
      other ??= { location, sha256: found };
      tried.push({ url: publicName(location), problem: `its SHA-256 is ${found}` });
    } catch (error) {
      if (!(error instanceof MucastError && UNUSABLE.has(error.code))) throw error;
      tried.push({ url: publicName(location), problem: error.code });
      // The caller's blob must exist.
      if (location === given) break;
    }
  }
  const isRecorded = original !== undefined && (given === undefined || original === given);
  const chosen = isRecorded ? { location: original!, sha256 } : other;
  const found = chosen ? { url: publicName(chosen.location), sha256: chosen.sha256 } : null;
  return { location: chosen?.location, original, shown: { url: publicName(url), sha256, found, tried } };
}

/** Reports the bytes that are read. */
export async function* counted(chunks: AsyncIterable<Uint8Array>, { report }: Reading) {
  let done = 0;
  for await (const chunk of chunks) {
    done += chunk.length;
    report({ kind: "progress", stage: "read", done });
    yield chunk;
  }
}

/** Blobs beside an output at a URL are read with the query of that URL. */
function beside(output: string, name: string): string {
  if (!isRemoteUrl(output)) return join(dirname(isUrl(output) ? filePath(output) : output), name);
  const [bare, ...query] = output.split("?");
  return [`${bare!.slice(0, bare!.lastIndexOf("/"))}/${name}`, ...query].join("?");
}

/** A URL without its query, or the name of a local file: a verdict contains no path of the machine. */
export function publicName(location: string): string {
  const shown = redactUrl(location);
  return isRemoteUrl(location) ? shown : basename(shown);
}

/**
 * How a blob differs from the one that an output was made from: tickers, dates and columns. The recorded one is held in memory. Undefined
 * if one of them is not a valid blob, or is no longer readable.
 */
async function changeOf(
  kind: InputKind,
  recorded: string,
  found: string,
  reading: Reading,
  workFolder: string,
): Promise<InputChange | undefined> {
  const [tickers, columns, onlyFound] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const days = new Set<Day>();
  let values = 0;
  const kept = new Map<string, TickerSeries>();
  try {
    for await (const series of seriesOf(kind, recorded, reading, workFolder)) kept.set(series.ticker, series);
    for await (const series of seriesOf(kind, found, reading, workFolder)) {
      const before = kept.get(series.ticker);
      kept.delete(series.ticker);
      if (before === undefined) onlyFound.add(series.ticker);
      else
        for (const { day, column } of differencesOf(before, series)) {
          tickers.add(series.ticker);
          if (day !== undefined) days.add(day);
          if (column !== undefined) columns.add(column);
          if (day !== undefined && column !== undefined) values++;
        }
    }
  } catch (error) {
    if (isRefusal(error) || isUnread(error)) return undefined;
    throw error;
  }
  const sorted = [...days].sort((a, b) => a - b);
  const [first, last] = [sorted[0], sorted.at(-1)];
  return {
    values,
    tickers: namesOf(tickers),
    columns: namesOf(columns),
    dates:
      first === undefined ? null : { count: sorted.length, first: formatDay(first), last: formatDay(last!) },
    only_recorded: namesOf(kept.keys()),
    only_found: namesOf(onlyFound),
  };
}

async function* seriesOf(
  kind: InputKind,
  location: string,
  { policy, signal, blobUrl }: Reading,
  workFolder: string,
): AsyncGenerator<TickerSeries> {
  const blob = await openBlob(location, policy, { signal, blobUrl });
  const options = { workFolder, signal, limits: policy.limits };
  if (kind === "feature") yield* readFeatures(blob, options);
  else {
    const prices = await readPrices(blob, options);
    for (const ticker of prices.tickers) yield priceSeries(prices.load(ticker));
  }
}

/** @yields a column or a day that only one of two series of a ticker has, and each value that differs. */
function* differencesOf(
  before: TickerSeries,
  after: TickerSeries,
): Generator<{ day?: Day; column?: string }> {
  for (const column of new Set([...before.columns, ...after.columns]))
    if (!before.columns.includes(column) || !after.columns.includes(column)) yield { column };
  const rows = new Map(Array.from(before.days, (day, i) => [day, i]));
  const places = after.columns.map((column) => before.columns.indexOf(column));
  for (const [j, day] of after.days.entries()) {
    const i = rows.get(day);
    rows.delete(day);
    if (i === undefined) yield { day };
    else
      for (const [c, place] of places.entries()) {
        const value = before.values[place * before.days.length + i];
        if (place >= 0 && !Object.is(value, after.values[c * after.days.length + j]))
          yield { day, column: after.columns[c]! };
      }
  }
  for (const day of rows.keys()) yield { day };
}

function namesOf(names: Iterable<string>): InputChange["tickers"] {
  const sorted = [...names].sort(compareCodePoints);
  return { count: sorted.length, first: sorted.slice(0, REPLAY_LISTS.names) };
}
