import type { Finding } from "../../src/audit/check.ts";
import { examineTicker } from "../../src/audit/foresight/examine-ticker.ts";
import { foresightFindings } from "../../src/audit/foresight/foresight-findings.ts";
import { Suspects } from "../../src/audit/foresight/suspects.ts";
import { tickerHistory } from "../../src/audit/foresight/ticker-history.ts";
import { atOnce } from "../../src/contract/machine/pausable.ts";
import type { Market } from "./clean-markets.ts";

/**
 * The foresight check on a market in memory.
 * @param times how many times its tests the market had that this one is a part of.
 */
export function foresightOf(
  { prices, features }: Market,
  times = 1,
): {
  readonly findings: readonly Finding[];
  readonly suspects: Suspects;
} {
  const days = prices[0]!.days;
  const window = { start: days[0]!, end: days.at(-1)! };
  const suspects = new Suspects();
  for (const [t, one] of features.entries()) {
    atOnce(examineTicker(tickerHistory(prices[t]!, one, window), window, suspects));
  }
  suspects.countTests(Math.round((times - 1) * suspects.tests));
  return { findings: foresightFindings(suspects.standing(), suspects.needed, new Set()), suspects };
}
