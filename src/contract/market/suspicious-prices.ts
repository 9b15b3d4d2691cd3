import { counted } from "../errors/wording.ts";
import { formatDay } from "./dates.ts";

/** A larger size is worse: percent of a jump, prices of a run. */
type Finding = Readonly<{ sentence: string; size: number }>;

const FINDINGS_SHOWN = 3;

/**
 * The number of prices that are rarely right, and the worst in words; undefined without any. With the limits below, 1 of the 200 tickers of
 * examples/sp500-200 has a finding, and 93 % of planted 2:1 splits are found (5 for each ticker, seed 1).
 * @param days shape (m), ascending. @param prices shape (m), finite and above zero.
 */
export function suspiciousPrices(days: Int32Array, prices: Float64Array) {
  const found = [...jumps(days, prices), ...frozenRuns(days, prices), ...filledWeekends(days, prices)];
  if (found.length === 0) return undefined;
  const worst = found.toSorted((a, b) => b.size - a.size).slice(0, FINDINGS_SHOWN);
  const more = found.length > worst.length ? `; and ${found.length - worst.length} more` : "";
  return { count: found.length, text: worst.map(({ sentence }) => sentence).join("; ") + more };
}

/** With fewer returns, none is usual. */
const MIN_RETURNS = 10;
/** No company of the S&P 500 or the FTSE 100 had a larger return in 20 years. */
const LARGE_JUMP = Math.log(3.6);
/** A large jump may revert within as many dates, a smaller one on the next. */
const MAX_DATES_BACK = 10;
const SMALL_JUMP = Math.log(1.4);

function jumps(days: Int32Array, prices: Float64Array): Finding[] {
  const returns = prices.subarray(1).map((price, i) => Math.log(price / prices[i]!));
  if (returns.length < MIN_RETURNS) return [];
  const moves = returns.map(Math.abs).filter((move) => move > 0);
  const usual = 1.4826 * (moves.sort()[moves.length >> 1] ?? 0);
  const found: Finding[] = [];
  for (let i = 0; i < returns.length; i++) {
    const jump = returns[i]!;
    const size = Math.abs(jump);
    if (size < SMALL_JUMP) continue;
    const isLarge = size > LARGE_JUMP;
    const next = returns.subarray(i + 1, i + 1 + (isLarge ? MAX_DATES_BACK : size > 10 * usual ? 1 : 0));
    const back = next.findIndex((other) => Math.abs(jump + other) < size / 10) + 1;
    if (back === 0 && !isLarge && !isSplit(returns, i, usual)) continue;
    const end =
      back === 0 ? ", like a split or another unit" : ` and is back on ${formatDay(days[i + 1 + back]!)}`;
    found.push({
      sentence: `on ${formatDay(days[i + 1]!)} the price ${inWords(jump)}${end}`,
      size: 100 * size,
    });
    i += back;
  }
  return found;
}

function inWords(jump: number): string {
  const ratio = Math.exp(Math.abs(jump));
  if (ratio < 1.75) return jump > 0 ? "rises by half" : "falls to two thirds";
  return jump > 0 ? `rises to ${Math.round(ratio)} times` : `falls to 1/${Math.round(ratio)}`;
}

const NEIGHBOURS = 5;

/**
 * Whether a jump is 2:1, 3:1 or 3:2, and a usual return. Crises move prices before and after, too. Some companies lose a third on a calm
 * day, so 3:2 must be closer.
 */
function isSplit(returns: Float64Array, i: number, usual: number): boolean {
  const near = [...returns.subarray(Math.max(0, i - NEIGHBOURS), i + 1 + NEIGHBOURS)];
  const moves = near.map(Math.abs).sort((a, b) => a - b);
  const isNear = (ratio: number, most: number) => Math.abs(Math.abs(returns[i]!) - Math.log(ratio)) < most;
  if (returns[i]! < 0 && isNear(1.5, 0.02)) return moves.at(-2)! < 4 * usual;
  return (isNear(2, 0.1) || isNear(3, 0.1)) && moves[moves.length >> 1]! < 2 * usual;
}

const FROZEN_PRICES = 15;

function frozenRuns(days: Int32Array, prices: Float64Array): Finding[] {
  const found: Finding[] = [];
  for (let from = 0, to = 1; from < prices.length; from = to++) {
    while (prices[to] === prices[from]) to++;
    const size = to - from;
    if (size < FROZEN_PRICES) continue;
    const sentence = `${size} prices from ${formatDay(days[from]!)} to ${formatDay(days[to - 1]!)} are equal`;
    found.push({ sentence, size });
  }
  return found;
}

const MIN_FILLED_DAYS = 10;

function filledWeekends(days: Int32Array, prices: Float64Array): Finding[] {
  // Day 0 was a Thursday; Saturday and Sunday are 6 and 0 here.
  const weekend = [...days.keys()].filter((i) => i > 0 && ((days[i]! + 7_000_004) % 7) % 6 === 0);
  const filled = weekend.filter((i) => prices[i] === prices[i - 1]);
  const size = filled.length;
  if (size < MIN_FILLED_DAYS || size < 0.9 * weekend.length) return [];
  const from = formatDay(days[filled[0]!]!);
  return [{ sentence: `${counted(size, "date")} on weekends from ${from} on repeat the price before`, size }];
}
