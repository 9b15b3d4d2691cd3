import type { AuditFacts } from "../../../contract/output/audit-blob.ts";
import type { PooledSuspect } from "./pooled-suspects.ts";
import type { PooledTest } from "./pooled-test.ts";

/** What the tickers show together, as a sentence. */
export function pooledText({ feature, shown }: PooledSuspect): string {
  const what = shown.side === "change" ? `the change of ${feature}` : feature;
  const { dates } = shown;
  const t = Number.isFinite(shown.t) ? shown.t.toFixed(1) : "infinite";
  switch (shown.form) {
    case "over_time":
      return `Over all tickers ${what} correlates with the next return by ${figure(shown)} (t ${t} over ${dates} dates), and ${limit(shown)} is the most that an honest feature may show.`;
    case "across_tickers":
      return `Across tickers ${what} correlates with the next return by ${figure(shown)} on average (t ${t} over ${dates} dates), and ${limit(shown)} is the most that an honest feature may show.`;
    case "ordered_dates":
      return `On ${(100 * Math.abs(shown.c)).toFixed(1)} % of ${dates} dates ${what} orders the tickers nearly as their next returns do, and hardly on any the other way round: part of its dates may be early.`;
    case "next_return":
      return `Over all tickers the next return after a missing ${feature} differs by ${figure(shown)} deviations from the others (t ${t} over ${dates} dates).`;
    case "next_size":
      return `Over all tickers ${feature} is missing by the size of the next return, more than by that of the last one: ${figure(shown)} deviations (t ${t} over ${dates} dates). Rows may be left out by what came later.`;
  }
}

const figure = ({ c }: PooledTest) => c.toFixed(2);
const limit = ({ limit }: PooledTest) => limit.toFixed(2);

/** All tests of the feature over all tickers. */
export function pooledFigures({ pooled }: PooledSuspect): AuditFacts[] {
  return pooled.map(({ side, form, c, t, dates, limit }) => ({
    side,
    form,
    c,
    t: Number.isFinite(t) ? t : null,
    dates,
    limit,
  }));
}
