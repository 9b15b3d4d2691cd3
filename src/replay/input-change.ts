import { openBlob } from "../blob/open-blob.ts";
import { formatDay } from "../contract/market/dates.ts";
import { compareCodePoints, priceSeries, type TickerSeries } from "../contract/market/ticker-series.ts";
import { type InputChange, REPLAY_LISTS } from "../contract/output/replay-blob.ts";
import { BlockStore, SeriesStore } from "../ingest/block-store.ts";
import { readFeatures } from "../ingest/read-features.ts";
import { readPrices } from "../ingest/read-prices.ts";
import type { Reading } from "./find-input.ts";

export type InputKind = "feature" | "data_extractor";

/**
 * How a blob differs from the one that an output was made from: tickers, dates and columns. Both are streamed; columns beyond 64 MiB
 * are buffered in a file of the work folder.
 * @throws MucastError of reading.
 */
export async function inputChange(
  kind: InputKind,
  recorded: string,
  found: string,
  reading: Reading,
  workFolder: string,
): Promise<InputChange> {
  const blocks = new BlockStore(workFolder);
  const kept = new SeriesStore(blocks);
  try {
    for await (const series of seriesOf(kind, recorded, reading, workFolder)) kept.add(series);
    const change = new Change();
    for await (const series of seriesOf(kind, found, reading, workFolder)) {
      const before = kept.take(series.ticker);
      if (before === undefined) change.onlyFound.add(series.ticker);
      else compareTicker(before, series, change);
    }
    for (const ticker of kept.tickers()) change.onlyRecorded.add(ticker);
    return change.summary();
  } finally {
    blocks.close();
  }
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
