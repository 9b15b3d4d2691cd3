import { type Day, formatDay } from "../../contract/market/dates.ts";
import type { TickerSeries } from "../../contract/market/ticker-series.ts";
import { type Change, type ColumnChange, compareTicker, LATE_DAYS } from "./compare-ticker.ts";

/** A ticker in the earlier day's blob, in today's, or in both. */
export interface TickerPair {
  readonly previous?: TickerSeries;
  readonly current?: TickerSeries;
}

/** A change that is a finding. */
export type TallyKind = Exclude<Change, "rounded" | "warm_up">;

/** Compares an earlier day's blob with today's, ticker by ticker. Memory grows with tickers and features, not with values. */
export class HistoryComparison {
  readonly features = new Map<string, Map<TallyKind, ChangeTally>>();
  /** Tickers that only one blob has. */
  readonly vanished: string[] = [];
  readonly appeared: string[] = [];
  /** Features that a ticker no longer has, with the number of such tickers. */
  readonly removed = new Map<string, number>();
  readonly added = new Set<string>();
  /** By ticker: the oldest factor of its first rescaled column. */
  readonly rescaled = new Map<string, number>();
  readonly spans = {
    previous: { first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY },
    current: { first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY },
  };
  tickers = 0;
  /** Pairs of a ticker and a feature. */
  columns = 0;
  values = 0;
  readonly harmless = { rounded: 0, warm_up: 0 };
  /** Which days count is known only after every ticker, so those that only one blob has are kept until then. */
  readonly #days = { lost: [] as TickerDays[], added: [] as TickerDays[] };

  /** The caller may drop both histories afterwards. */
  add({ previous, current }: TickerPair): void {
    const { ticker } = (previous ?? current)!;
    for (const [span, days] of [
      [this.spans.previous, previous?.days],
      [this.spans.current, current?.days],
    ] as const) {
      span.first = Math.min(span.first, days?.[0] ?? span.first);
      span.last = Math.max(span.last, days?.at(-1) ?? span.last);
    }
    if (current === undefined) this.vanished.push(ticker);
    else if (previous === undefined) this.appeared.push(ticker);
    else this.#compare(ticker, previous, current);
  }

  #compare(ticker: string, previous: TickerSeries, current: TickerSeries): void {
    this.#days.lost.push(daysWithout(ticker, previous.days, current.days));
    this.#days.added.push(daysWithout(ticker, current.days, previous.days));
    const { columns, values, changed, removed, added } = compareTicker(previous, current);
    this.tickers++;
    this.columns += columns;
    this.values += values;
    for (const name of removed) this.removed.set(name, (this.removed.get(name) ?? 0) + 1);
    for (const name of added) this.added.add(name);
    for (const change of changed) {
      const { column, changes, steps } = change;
      if (steps.length > 0 && !this.rescaled.has(ticker)) this.rescaled.set(ticker, steps[0]!.factor);
      const kinds = this.features.get(column) ?? new Map<TallyKind, ChangeTally>();
      this.features.set(column, kinds);
      for (const kind of KINDS) {
        if (!changes.includes(kind)) continue;
        const tally = kinds.get(kind) ?? new ChangeTally();
        kinds.set(kind, tally);
        tally.add(ticker, change, kind);
      }
      for (const kind of changes) if (kind === "rounded" || kind === "warm_up") this.harmless[kind]++;
    }
  }

  /**
   * The rows that tickers lost or gained. Those before the later of both first days, and after the previous blob's last one, do not count:
   * the window moved. They are late if each comes after its ticker's last one, near the previous blob's end.
   */
  rows(kind: "lost" | "added") {
    const { previous, current } = this.spans;
    const first = Math.max(previous.first, current.first);
    const last = Math.min(previous.last, current.last);
    const tickers: string[] = [];
    const days = new Set<Day>();
    let [rows, isLate] = [0, true];
    for (const { ticker, days: only, otherLast } of this.#days[kind]) {
      const inside = only.filter((day) => day >= first && day <= last);
      if (inside.length > 0) tickers.push(ticker);
      rows += inside.length;
      for (const day of inside) days.add(day);
      isLate &&= inside.every((day) => day > Math.max(otherLast, last - LATE_DAYS));
    }
    return { rows, tickers, days, isLate };
  }
}

/** In the order in which a column's tallies are made. */
const KINDS: readonly TallyKind[] = ["rewritten", "rescaled", "standardised", "filled", "late", "erased"];

type TickerDays = ReturnType<typeof daysWithout>;

/** The days of a ticker that its other history lacks, and the last one of that. */
function daysWithout(ticker: string, days: Int32Array, others: Int32Array) {
  const there = new Set(others);
  const only = days.filter((day) => !there.has(day));
  return { ticker, days: only, otherLast: others.at(-1) ?? Number.NEGATIVE_INFINITY };
}

const MAX_EXAMPLES = 5;

/** The changes of one kind of one feature, over all tickers. */
export class ChangeTally {
  values = 0;
  tickers = 0;
  readonly days = new Set<Day>();
  /** The first few tickers, in order of appearance. */
  readonly examples: string[] = [];
  /** The factors of the first few tickers, each with the day from which on it holds. */
  readonly factors: { ticker: string; steps: { from: string; factor: number }[] }[] = [];
  /** Sum of |after - before| over numbers, and in deviations of their ticker's column. */
  absolute = 0;
  deviations = 0;
  /** Of numbers; in deviations of the ticker's earlier values of this feature. */
  largest: { ticker: string; day: Day; before: number; after: number; deviations: number } | undefined;
  /** The largest number of rows from a ticker's first changed one to its last. */
  reach = 0;

  add(ticker: string, change: ColumnChange, kind: TallyKind): void {
    const { changes, days, before, after, deviation, steps, reach } = change;
    this.tickers++;
    if (this.examples.length < MAX_EXAMPLES) this.examples.push(ticker);
    this.reach = Math.max(this.reach, reach);
    for (const [i, day] of days.entries()) {
      if (changes[i] !== kind) continue;
      this.values++;
      this.days.add(day);
      const size = Math.abs(after[i]! - before[i]!);
      if (Number.isNaN(size)) continue;
      const deviations = size / deviation;
      this.absolute += size;
      this.deviations += deviations;
      if (this.largest === undefined || !(this.largest.deviations >= deviations))
        this.largest = { ticker, day, before: before[i]!, after: after[i]!, deviations };
    }
    if (kind === "rescaled" && this.factors.length < MAX_EXAMPLES) {
      const dated = steps.map(({ from, factor }) => ({ from: formatDay(days[from]!), factor }));
      this.factors.push({ ticker, steps: dated });
    }
  }
}

/** A change of one or several features with one cause. */
export interface ChangeCause {
  /** The most telling one first. */
  readonly features: readonly string[];
  /** Of the first feature; the most severe kind first. */
  readonly kinds: readonly KindTally[];
}

type KindTally = readonly [TallyKind, ChangeTally];

/**
 * Groups the changes of features that have one cause: those of one kind that concern the same tickers and dates. Filled gaps and
 * erased values count as one cause, even if the dates differ: rows that moved leave gaps in one place and fill them in another, and each
 * feature has its first value on another date.
 */
export function changeCauses(features: HistoryComparison["features"]): ChangeCause[] {
  const causes = new Map<string, ChangeCause>();
  const isGap = ([kind]: KindTally) => kind === "filled" || kind === "erased";
  // Filled values are more severe than erased ones, and both together tell the most.
  const gravity = (kinds: readonly KindTally[]) => kinds.length + (kinds[0]![0] === "filled" ? 1 : 0);
  for (const [name, kinds] of features) {
    const gaps = [...kinds].filter(isGap).sort(([a], [b]) => KINDS.indexOf(a) - KINDS.indexOf(b));
    const others = [...kinds].filter((one) => !isGap(one));
    for (const group of [gaps, ...others.map((one) => [one])]) {
      if (group.length === 0) continue;
      const [kind, { tickers, examples, days }] = group[0]!;
      const dates = isGap(group[0]!) ? ["gaps"] : [kind, days.size, Math.min(...days), Math.max(...days)];
      const key = JSON.stringify([...dates, tickers, examples]);
      const cause = causes.get(key);
      if (cause !== undefined && gravity(group) <= gravity(cause.kinds))
        causes.set(key, { ...cause, features: [...cause.features, name] });
      else causes.set(key, { features: [name, ...(cause?.features ?? [])], kinds: group });
    }
  }
  return [...causes.values()];
}
