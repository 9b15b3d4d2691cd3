import type { Blob } from "../../blob/open-blob.ts";
import type { Day } from "../../contract/market/dates.ts";
import type { RequestedWindow, TickerPrices } from "../../contract/market/ticker-series.ts";
import { type PriceBlob, readPrices } from "../../ingest/read-prices.ts";
import type { JobContext } from "../../jobs/shared/job.ts";
import { jobWindow } from "../../jobs/shared/read-inputs.ts";
import { isPrice } from "../../panel/price-dates.ts";
import { type ResolvedWindow, resolveWindow } from "../../panel/window.ts";

/** The data-extraction blob of an audit. */
export interface AuditedPrices {
  readonly blob: PriceBlob;
  readonly window: ResolvedWindow;
  /** Shape (n), ascending: the dates of the window on which some ticker has a price. */
  readonly dates: Int32Array;
}

/** @param requested bounds that the request adds to those of the blob. @throws MucastError of the blob and of the window. */
export async function readAuditedPrices(
  source: Blob,
  requested: RequestedWindow | undefined,
  { policy, signal }: JobContext,
  workFolder: string,
): Promise<AuditedPrices> {
  const blob = await readPrices(source, { workFolder, signal, limits: policy.limits });
  const asked = jobWindow(blob.window, requested, source.name);
  const { window } = resolveWindow(asked, tickersOf(blob), source.name);
  const days = new Set<Day>();
  for (const { days: own, prices } of tickersOf(blob)) {
    for (const [i, day] of own.entries()) {
      if (day >= window.start && day <= window.end && isPrice(prices[i]!)) days.add(day);
    }
  }
  return { blob, window, dates: Int32Array.from(days).sort() };
}

export function* tickersOf(blob: PriceBlob): Generator<TickerPrices> {
  for (const ticker of blob.tickers) yield blob.load(ticker);
}
