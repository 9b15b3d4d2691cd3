import type { Table } from "../bench.ts";
import { bouncing, cleanDays, FIRST_SEED, type Market } from "./clean-markets.ts";
import { foresightOf } from "./examined-market.ts";

const MARKETS = 50;
const SIZE = { tickers: 10, days: 750 };

/** Halves of the spread between bid and ask, as a log-return. */
const HALF_SPREADS = [0.004, 0.007, 0.012, 0.02];

/** What foresight finds if nothing is wrong except prices that bounce, so that each return predicts the next one. */
export function thinMarkets(): Table {
  return {
    title: `clean markets of ${SIZE.tickers} tickers and ${SIZE.days} dates whose prices bounce between bid and ask, foresight`,
    header: ["spread", "autocorrelation", "markets", "with a finding", "findings"],
    rows: HALF_SPREADS.map(thinRow),
  };
}

function thinRow(half: number): string[] {
  const codes = new Map<string, number>();
  let [found, autocorrelation] = [0, 0];
  for (let seed = 1; seed <= MARKETS; seed++) {
    const { today } = bouncing(cleanDays(FIRST_SEED + seed, SIZE), FIRST_SEED + seed, half);
    const { findings } = foresightOf(today);
    if (findings.length > 0) found++;
    for (const { code } of findings) codes.set(code, (codes.get(code) ?? 0) + 1);
    autocorrelation += meanAutocorrelation(today) / MARKETS;
  }
  const told = [...codes].map(([code, count]) => `${count} ${code}`).join(", ") || "none";
  const spread = `${(200 * half).toFixed(1)} %`;
  return [spread, autocorrelation.toFixed(2), String(MARKETS), String(found), told];
}

/** For successive returns, the mean over tickers. */
export function meanAutocorrelation({ prices: tickers }: Market): number {
  const each = tickers.map(({ prices }) => {
    const returns = prices.slice(1).map((price, i) => Math.log(price / prices[i]!));
    const product = (lag: number) =>
      returns.subarray(lag).reduce((sum, one, i) => sum + one * returns[i]!, 0);
    return product(1) / product(0);
  });
  return each.reduce((sum, one) => sum + one, 0) / each.length;
}
