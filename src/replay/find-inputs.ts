import { openBlob } from "../blob/open-blob.ts";
import { formatDay } from "../contract/market/dates.ts";
import { compareCodePoints, priceSeries, type TickerSeries } from "../contract/market/ticker-series.ts";
import { type InputChange, REPLAY_LISTS, type ReplayBlob } from "../contract/output/replay-blob.ts";
import { readFeatures } from "../ingest/read-features.ts";
import { readPrices } from "../ingest/read-prices.ts";
import { type FoundInput, findInput, type Reading } from "./find-input.ts";
import type { RecordedFacts } from "./recorded-output.ts";
import { isRefusal, isUnread } from "./refusals.ts";

export type FoundInputs = Readonly<Record<InputKind, FoundInput>>;

/** The location of an output, and the blobs that a caller names instead of the recorded ones. */
interface Places {
  readonly outputUrl: string;
  readonly featureUrl?: string | undefined;
  readonly dataExtractorUrl?: string | undefined;
}

/** Looks for the two input blobs of an output. @throws MucastError canceled. */
export async function findInputs(
  { provenance }: RecordedFacts,
  { outputUrl: output, featureUrl, dataExtractorUrl }: Places,
  reading: Reading,
): Promise<FoundInputs> {
  const feature = {
    url: provenance.feature_url,
    sha256: provenance.feature_sha256,
    given: featureUrl,
    output,
  };
  const prices = {
    url: provenance.data_extractor_url,
    sha256: provenance.data_extractor_sha256,
    given: dataExtractorUrl,
    output,
  };
  return {
    feature: await findInput(feature, reading),
    data_extractor: await findInput(prices, reading),
  };
}

export function missingInputs(inputs: FoundInputs): string | undefined {
  const gone = Object.values(inputs).filter(({ location }) => location === undefined);
  if (gone.length === 0) return undefined;
  const words = gone.flatMap(({ shown }) => shown.tried.map(({ url, problem }) => `${url}: ${problem}`));
  const names = gone.map(({ shown }) => shown.url).join(" and ");
  return `cannot read ${names} (${words.join("; ") || "no place to look"})`;
}

/** The text of a verdict if the digest of a blob differs from the recorded one; undefined if both match. */
export async function otherInputs(
  inputs: FoundInputs,
  reading: Reading,
  workFolder: string,
): Promise<{ readonly message: string; readonly inputs: NonNullable<ReplayBlob["inputs"]> } | undefined> {
  if (Object.values(inputs).every(({ isRecorded }) => isRecorded)) return undefined;
  const words: string[] = [];
  const withChange = async (kind: InputKind) => {
    const { isRecorded, original, location, shown } = inputs[kind];
    if (isRecorded) return shown;
    const change = original && (await changeOf(kind, original, location!, reading, workFolder));
    words.push(changeText(kind, shown, change || undefined));
    return change ? { ...shown, change } : shown;
  };
  const feature = await withChange("feature");
  const data_extractor = await withChange("data_extractor");
  return { message: words.join("; "), inputs: { feature, data_extractor } };
}

function changeText(
  kind: InputKind,
  { url, sha256, found }: FoundInput["shown"],
  change?: InputChange,
): string {
  const text = `${url} had the SHA-256 ${sha256}, and ${found!.url} has ${found!.sha256}`;
  if (change === undefined || !isSameSeries(change)) return text;
  const window = kind === "feature" ? "" : "has another window, or ";
  return `${text}, though every value is the same: it ${window}is written or compressed in another way`;
}

function isSameSeries({ tickers, columns, only_recorded, only_found }: InputChange): boolean {
  return [tickers, columns, only_recorded, only_found].every(({ count }) => count === 0);
}

/** Undefined if one of them is not a valid blob, or is no longer readable. */
async function changeOf(
  kind: InputKind,
  original: string,
  location: string,
  reading: Reading,
  workFolder: string,
): Promise<InputChange | undefined> {
  try {
    return await inputChange(kind, original, location, reading, workFolder);
  } catch (error) {
    if (isRefusal(error) || isUnread(error)) return undefined;
    throw error;
  }
}

type InputKind = "feature" | "data_extractor";

/**
 * How a blob differs from the one that an output was made from: tickers, dates and columns. The recorded one is held in memory.
 * @throws MucastError of reading.
 */
async function inputChange(
  kind: InputKind,
  recorded: string,
  found: string,
  reading: Reading,
  workFolder: string,
): Promise<InputChange> {
  const kept = new Map<string, TickerSeries>();
  for await (const series of seriesOf(kind, recorded, reading, workFolder)) kept.set(series.ticker, series);
  const change = new Change();
  for await (const series of seriesOf(kind, found, reading, workFolder)) {
    const before = kept.get(series.ticker);
    if (before === undefined) change.onlyFound.add(series.ticker);
    else compareTicker(before, series, change);
    kept.delete(series.ticker);
  }
  for (const ticker of kept.keys()) change.onlyRecorded.add(ticker);
  return change.summary();
}

async function* seriesOf(
  kind: InputKind,
  location: string,
  { policy, signal, blobUrl }: Reading,
  workFolder: string,
): AsyncGenerator<TickerSeries> {
  const blob = await openBlob(location, policy, { signal, blobUrl });
  const options = { workFolder, signal, limits: policy.limits };
  if (kind === "feature") {
    yield* readFeatures(blob, options);
    return;
  }
  const prices = await readPrices(blob, options);
  try {
    for (const ticker of prices.tickers) yield priceSeries(prices.load(ticker));
  } finally {
    prices.close();
  }
}

class Change {
  values = 0;
  readonly tickers = new Set<string>();
  readonly columns = new Set<string>();
  readonly days = new Set<number>();
  readonly onlyRecorded = new Set<string>();
  readonly onlyFound = new Set<string>();

  summary(): InputChange {
    const days = [...this.days].sort((a, b) => a - b);
    return {
      values: this.values,
      tickers: namesOf(this.tickers),
      columns: namesOf(this.columns),
      dates:
        days.length === 0
          ? null
          : { count: days.length, first: formatDay(days[0]!), last: formatDay(days.at(-1)!) },
      only_recorded: namesOf(this.onlyRecorded),
      only_found: namesOf(this.onlyFound),
    };
  }
}

function namesOf(names: ReadonlySet<string>): InputChange["tickers"] {
  const sorted = [...names].sort(compareCodePoints);
  return { count: sorted.length, first: sorted.slice(0, REPLAY_LISTS.names) };
}

function compareTicker(before: TickerSeries, after: TickerSeries, change: Change): void {
  const places = after.columns.map((column) => before.columns.indexOf(column));
  for (const [c, place] of places.entries()) if (place < 0) changed(change, after, after.columns[c]!);
  for (const column of before.columns) if (!after.columns.includes(column)) changed(change, after, column);
  let [i, j] = [0, 0];
  while (i < before.days.length || j < after.days.length) {
    const [day, other] = [
      before.days[i] ?? Number.POSITIVE_INFINITY,
      after.days[j] ?? Number.POSITIVE_INFINITY,
    ];
    if (day !== other) {
      change.tickers.add(after.ticker);
      change.days.add(Math.min(day, other));
    } else compareRow(before, i, after, j, places, change);
    if (day <= other) i += 1;
    if (other <= day) j += 1;
  }
}

function changed(change: Change, { ticker }: TickerSeries, column: string): void {
  change.tickers.add(ticker);
  change.columns.add(column);
}

/** @param places for each column of `after`, its position in `before`; negative if that lacks it. */
function compareRow(
  before: TickerSeries,
  i: number,
  after: TickerSeries,
  j: number,
  places: readonly number[],
  change: Change,
): void {
  for (const [c, place] of places.entries()) {
    if (place < 0) continue;
    const value = before.values[place * before.days.length + i];
    if (Object.is(value, after.values[c * after.days.length + j])) continue;
    change.values += 1;
    change.days.add(after.days[j]!);
    changed(change, after, after.columns[c]!);
  }
}
