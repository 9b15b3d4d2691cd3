import { FAMILY_ERROR } from "../significance.ts";
import { CHANGE_OVER_LEVEL } from "../suspects.ts";
import { isBeyondLimit, type PooledSide, type PooledTest } from "./pooled-tests.ts";

/** A feature that is suspected over all tickers together. */
export interface PooledSuspect {
  readonly code: "knows_next_price" | "implausible_skill" | "missing_predicts_label";
  readonly feature: string;
  /** The clearest test. */
  readonly shown: PooledTest;
  /** All tests of the feature. */
  readonly pooled: readonly PooledTest[];
}

/**
 * The suspicions from the pooled tests. Half of the chance findings allowed for an audit belong to them, the other half to single
 * tickers.
 */
export function pooledSuspects(tests: ReadonlyMap<string, readonly PooledTest[]>): PooledSuspect[] {
  const all = [...tests.values()].reduce((sum, { length }) => sum + length, 0);
  const p = FAMILY_ERROR / 2 / Math.max(1, all);
  return [...tests].flatMap(([feature, pooled]) => {
    const found = pooled.filter((test) => isBeyondLimit(test, p));
    const returns = found.filter(({ side }) => side !== "missing");
    const gaps = found.filter(({ side }) => side === "missing");
    const suspect = (code: PooledSuspect["code"], shown: readonly PooledTest[]): PooledSuspect[] =>
      shown.length === 0 ? [] : [{ code, feature, shown: clearest(shown), pooled }];
    return [
      ...suspect(isFresh(returns, pooled) ? "knows_next_price" : "implausible_skill", returns),
      ...suspect("missing_predicts_label", gaps),
    ];
  });
}

/** Whether the change contains what the value of the previous date did not, as for single tickers. */
function isFresh(found: readonly PooledTest[], pooled: readonly PooledTest[]): boolean {
  return found.some(({ side, form, c }) => {
    if (side !== "change" || form === "ordered_dates") return false;
    return Math.abs(c) > CHANGE_OVER_LEVEL * sizeOf(pooled, "value", form);
  });
}

function sizeOf(pooled: readonly PooledTest[], side: PooledSide, form: PooledTest["form"]): number {
  return Math.abs(pooled.find((test) => test.side === side && test.form === form)?.c ?? 0);
}

function clearest(tests: readonly PooledTest[]): PooledTest {
  return tests.reduce((a, b) => (Math.abs(b.t) > Math.abs(a.t) ? b : a));
}
