import { counted } from "../../contract/errors/wording.ts";
import type { Finding } from "../check.ts";
import { finding } from "../findings.ts";
import type { Difference } from "./compare-parts.ts";

/** The differences of one kind of one ticker, over all cuts. */
interface Change {
  readonly ticker: string;
  readonly first: Difference;
  /** The last date of the blobs in the first difference. */
  readonly date: string;
  count: number;
  readonly cuts: Set<string>;
  /** Largest absolute difference of two numbers; undefined without two numbers. */
  largest: number | undefined;
}

/** Collects differences by ticker and kind: one finding each, whatever their number. */
export class Changes {
  readonly #changes = new Map<string, Change>();
  readonly #withoutTicker: Finding[] = [];

  add(date: string, ticker: string, difference: Difference): void {
    const key = `${difference.code} ${ticker}`;
    let change = this.#changes.get(key);
    if (change === undefined) {
      change = { ticker, first: difference, date, count: 0, cuts: new Set(), largest: undefined };
      this.#changes.set(key, change);
    }
    change.count += 1;
    change.cuts.add(date);
    const { whole, cut } = difference;
    if (typeof whole !== "number" || typeof cut !== "number") return;
    change.largest = Math.max(change.largest ?? 0, Math.abs(whole - cut));
  }

  /** The job has forecasts with the whole blobs, and none with the cut ones. */
  addNoTicker(date: string, message: string): void {
    this.#withoutTicker.push(
      finding("ticker_changed", {
        message: `No ticker is left if the blobs end after ${date}: ${message}`,
        evidence: { cut_after: [date] },
      }),
    );
  }

  findings(): Finding[] {
    return [...this.#withoutTicker, ...[...this.#changes.values()].map(findingOf)];
  }
}

function findingOf({ ticker, first, date, count, cuts, largest }: Change): Finding {
  const { code, at, whole, cut } = first;
  const message =
    code === "ticker_changed"
      ? `${ticker} has ${at} ${whole === null ? "only with the blobs cut after" : "with the whole blobs and none with those cut after"} ${date}`
      : `${ticker}: ${counted(count, "value")} differ where the blobs end after ${date}; the first is ${at}: ${whole} with the whole blobs, ${cut} with the cut ones`;
  return finding(code, {
    ticker,
    message,
    evidence: {
      at,
      whole,
      cut,
      values: count,
      cut_after: [...cuts],
      ...(largest === undefined ? {} : { largest_difference: largest }),
    },
  });
}
