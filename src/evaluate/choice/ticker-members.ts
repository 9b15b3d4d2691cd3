import type { ChoiceRule } from "../../contract/config/choice/choice-config.ts";
import type { Pausable } from "../../contract/machine/pausable.ts";
import type { Day } from "../../contract/market/dates.ts";
import { varianceBetween } from "../between-variance.ts";
import { MIN_DATES } from "../newey-west.ts";
import { countKnown, type LossSeries, type TestedTicker } from "./candidate-losses.ts";
import { CommonDifferences, TickerDifferences } from "./known-differences.ts";
import type { Difference, MemberChoice, Members } from "./members.ts";

/**
 * The candidates to use for each ticker. A ticker's mean difference from the best candidate of all tickers is pulled towards that of all
 * tickers by how uncertain it is (empirical Bayes, as shrinkage factors are), and the rule then applies to these means. If the tickers
 * differ no more than chance explains, every ticker gets the members of all. So does a ticker without enough rows of the best candidate and
 * another one.
 * @param known the date at whose close the choice is made; later labels do not count.
 * @param common the choice of all tickers at that date.
 * @param differences of the same tickers, to choose at many dates in less time.
 */
export function* tickerMembers(
  tickers: readonly TestedTicker[],
  series: LossSeries,
  known: Day,
  { best, members }: MemberChoice,
  rule: ChoiceRule,
  differences = allDifferences(tickers, series),
): Pausable<readonly Members[]> {
  const dates = countKnown(series.days, known);
  const candidates = [...series.excess.keys()];
  const columns: ((Difference | undefined)[] | undefined)[] = [];
  for (const c of candidates) {
    yield 0;
    const pooled = differences.common.of(c, best, dates);
    const own = differences.byTicker.of(c, best, known, MIN_DATES);
    const hasOwn = own.some((one) => one !== undefined);
    columns.push(hasOwn ? posteriors(own, pooled) : undefined);
  }
  return tickers.map((_, i) => {
    const others = columns.map((column) => column?.[i]);
    if (others.every((other) => other === undefined)) return members;
    return chosen(
      others.map((other, c) => (c === best ? ZERO : other)),
      best,
      rule,
    );
  });
}

/** The differences between candidates that choices per ticker need. */
export interface AllDifferences {
  readonly common: CommonDifferences;
  readonly byTicker: TickerDifferences;
}

export function allDifferences(tickers: readonly TestedTicker[], { excess }: LossSeries): AllDifferences {
  return {
    common: new CommonDifferences(excess),
    byTicker: new TickerDifferences(tickers, excess.length),
  };
}

const ZERO: Difference = { mean: 0, error: 0 };

/** Each ticker's difference, pulled towards the pooled one; undefined for a ticker without its own. */
function posteriors(
  own: readonly (Difference | undefined)[],
  pooled: Difference,
): (Difference | undefined)[] {
  const weights = own.map((one) => (one === undefined || one.error === 0 ? 0 : 1 / one.error ** 2));
  const between = varianceBetween(own.map((one, i) => ({ value: one?.mean ?? 0, weight: weights[i]! })));
  return own.map((one, i) => {
    if (one === undefined) return undefined;
    if (between === 0 || weights[i] === 0) return pooled;
    const precision = weights[i]! + 1 / between;
    const pull = 1 / between / precision;
    return {
      mean: (1 - pull) * one.mean + pull * pooled.mean,
      error: Math.sqrt(1 / precision + (pull * pooled.error) ** 2),
    };
  });
}

/** @param means by candidate, against `best`; undefined if a candidate has too few rows of the ticker. */
function chosen(means: readonly (Difference | undefined)[], best: number, rule: ChoiceRule): Members {
  let own = best;
  for (const [c, one] of means.entries()) if (one !== undefined && one.mean < means[own]!.mean) own = c;
  if (rule === "best") return [own];
  const lowest = means[own]!;
  return [...means.keys()].filter((c) => {
    const one = means[c];
    if (one === undefined) return false;
    return one.mean - lowest.mean <= (c === best ? lowest.error : one.error);
  });
}
