import { MucastError } from "../contract/errors/errors.ts";
import { counted } from "../contract/errors/wording.ts";
import { type Day, formatDay, MILLISECONDS_PER_DAY } from "../contract/market/dates.ts";
import { suspiciousPrices } from "../contract/market/suspicious-prices.ts";
import {
  MAX_GAP_DAYS,
  sparseGapDays,
  sparsePrices,
  type TickerPrices,
} from "../contract/market/ticker-series.ts";
import type { BlobWindow } from "./blob-files.ts";
import type { LineOf } from "./csv.ts";

type Report = (sentence: string) => void;

const SENTENCES_SHOWN = 10;

/** Reports the first sentences, and how many more there are. */
export function warn(
  report: Report,
  sentences: readonly string[],
  what: "ticker" | "feature" = "ticker",
): void {
  for (const sentence of sentences.slice(0, SENTENCES_SHOWN)) report(`warning: ${sentence}`);
  const more = sentences.length - SENTENCES_SHOWN;
  if (more > 0) report(`warning: so it is with ${counted(more, `more ${what}`)}`);
}

/**
 * Refuses prices of the future, because a job would forecast as of such a mistyped date, and warns of a first or last date far from the others.
 * @param dates at least one, ascending.
 */
export function checkDates(
  source: string,
  dates: Int32Array,
  lineOf: LineOf | undefined,
  report: Report,
): void {
  const at = (day: Day) => (lineOf === undefined ? "" : `line ${lineOf(day)}: `);
  const last = dates.at(-1)!;
  const tomorrow = Math.floor(Date.now() / MILLISECONDS_PER_DAY) + 1;
  if (last > tomorrow) {
    const message = `${at(last)}the last date, ${formatDay(last)}, is in the future; correct it, or leave it out with --end (over HTTP end)`;
    throw new MucastError("invalid_data", `${source}: ${message}`, { source, line: lineOf?.(last) });
  }
  if (dates.length < 3 || sparseGapDays(dates) !== undefined) return;
  for (const [name, day, neighbour, next] of [
    ["first", dates[0]!, dates[1]!, "next"],
    ["last", last, dates.at(-2)!, "previous"],
  ] as const) {
    const gap = Math.abs(day - neighbour);
    if (gap > MAX_GAP_DAYS)
      report(
        `warning: ${source}: ${at(day)}the ${name} date, ${formatDay(day)}, is ${gap} calendar days from the ${next} one, ${formatDay(neighbour)}; check that it is not mistyped`,
      );
  }
}

/** Warns of prices that a job would refuse, leave out or warn of. */
export function warnOfPrices(
  tickers: readonly TickerPrices[],
  { start, end }: BlobWindow,
  report: Report,
): void {
  const sparse: string[] = [];
  const suspicious: string[] = [];
  for (const { ticker, days, prices } of tickers) {
    const count = prices.filter((price) => price <= 0).length;
    const [are, get] = count === 1 ? ["is", "its date gets"] : ["are", "their dates get"];
    if (count > 0)
      report(`${ticker}: ${counted(count, "price")} ${are} zero or negative; ${get} no features`);
    const isUsed = (_: number, i: number) => days[i]! >= start && days[i]! <= end && prices[i]! > 0;
    const used = days.filter(isUsed);
    const gapDays = sparseGapDays(used);
    if (gapDays !== undefined)
      sparse.push(
        `${ticker} ${sparsePrices(gapDays)}: no job can learn from it; give daily or weekly prices`,
      );
    const found = suspiciousPrices(used, prices.filter(isUsed));
    if (found !== undefined) suspicious.push(`${ticker}: ${found.text}`);
  }
  warn(report, sparse);
  warn(report, suspicious);
}
