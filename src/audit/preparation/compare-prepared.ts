import { openBlob } from "../../blob/open-blob.ts";
import { Turns } from "../../contract/machine/pausable.ts";
import type { Day } from "../../contract/market/dates.ts";
import { priceSeries, type TickerSeries } from "../../contract/market/ticker-series.ts";
import { readFeatures } from "../../ingest/read-features.ts";
import { readPrices } from "../../ingest/read-prices.ts";
import type { PreparedBlobs } from "../../prepare/prepare-prices.ts";
import type { AuditContext } from "../check.ts";
import { tickersOf } from "../job/audited-prices.ts";
import { type TickerPair, tickerPairs } from "../restatement/ticker-pairs.ts";

/** A value that differs; NaN if missing. */
export interface ChangedValue {
  readonly ticker: string;
  /** A feature, or `price`. */
  readonly column: string;
  readonly day: Day;
  readonly whole: number;
  readonly cut: number;
}

/**
 * Compares what was prepared from the whole CSV with what was prepared from one that ends after `until`, bit for bit.
 * @param onChange gets each differing value dated up to `until`.
 * @returns the number of compared values.
 * @throws MucastError of the blobs.
 */
export async function comparePrepared(
  whole: PreparedBlobs,
  cut: PreparedBlobs,
  until: Day,
  context: AuditContext,
  onChange: (change: ChangedValue) => void,
): Promise<number> {
  const turns = new Turns(context.signal);
  let values = 0;
  for (const read of [pricesOf, featuresOf]) {
    const [before, after] = [read(cut, context), read(whole, context)];
    for await (const pair of tickerPairs(before, after, context.workFolder)) {
      values += compareTicker(pair, until, onChange);
      await turns.pauseIfOver();
    }
  }
  return values;
}

async function* featuresOf({ featurePath }: PreparedBlobs, context: AuditContext) {
  yield* readFeatures(await openBlob(featurePath, context.policy, context), readingOf(context));
}

async function* pricesOf(
  { dataExtractorPath }: PreparedBlobs,
  context: AuditContext,
): AsyncGenerator<TickerSeries> {
  const blob = await readPrices(
    await openBlob(dataExtractorPath, context.policy, context),
    readingOf(context),
  );
  try {
    for (const prices of tickersOf(blob)) yield priceSeries(prices);
  } finally {
    blob.close();
  }
}

function readingOf({ signal, policy, workFolder }: AuditContext) {
  return { signal, limits: policy.limits, workFolder };
}

/** @param pair of the cut blob, as the previous one, and of the whole one. */
function compareTicker(
  { previous: cut, current: whole }: TickerPair,
  until: Day,
  onChange: (change: ChangedValue) => void,
): number {
  const { ticker } = (whole ?? cut)!;
  const days = new Set([...(cut?.days ?? []), ...(whole?.days ?? [])].filter((day) => day <= until));
  const sorted = Int32Array.from(days).sort();
  const columns = new Set([...(whole?.columns ?? []), ...(cut?.columns ?? [])]);
  for (const column of columns) {
    const [ofWhole, ofCut] = [valuesOn(whole, column, sorted), valuesOn(cut, column, sorted)];
    for (const [i, day] of sorted.entries()) {
      if (Object.is(ofWhole[i], ofCut[i])) continue;
      onChange({ ticker, column, day, whole: ofWhole[i]!, cut: ofCut[i]! });
    }
  }
  return columns.size * sorted.length;
}

/** Shape (n): the column on `days`, NaN if it has no value. */
function valuesOn(table: TickerSeries | undefined, column: string, days: Int32Array): Float64Array {
  const values = new Float64Array(days.length).fill(Number.NaN);
  const at = table?.columns.indexOf(column) ?? -1;
  if (table === undefined || at < 0) return values;
  for (let i = 0, row = 0; i < days.length; i++) {
    while (row < table.days.length && table.days[row]! < days[i]!) row++;
    if (table.days[row] === days[i]) values[i] = table.values[at * table.days.length + row]!;
  }
  return values;
}
