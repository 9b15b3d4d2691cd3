import { parseDay } from "../../src/contract/market/dates.ts";
import type { OutputBlob } from "../../src/contract/output/output-blob.ts";
import { RunningQuantile } from "../../src/evaluate/intervals/adaptive-intervals.ts";
import { type CoveredRows, coverageTable, scoreRatio } from "../../src/evaluate/intervals/coverage.ts";
import { recentVolatility } from "../../src/panel/labels.ts";

/** A form of two-sided adaptive intervals. Without the optional members, it is the form of docs/semantics.md with other constants. */
interface Form {
  readonly fastDecay: number;
  /** Decay of the slower part of the scale; "mean" is the mean of all absolute residuals so far. */
  readonly slowDecay: number | "mean";
  readonly slowShare: number;
  readonly feedback: number;
  /** Feedback on misses times log(fast / slow), within 1 of 0: it turns the quantile with the volatility. */
  readonly tilt?: number;
  /** Residuals enter the averages up to this many scales. */
  readonly cap?: number;
  /** The share of the fast part that all tickers have in common, and its decay. */
  readonly market?: readonly [share: number, decay: number];
}

const PRESENT: Form = { fastDecay: 0.9, slowDecay: 0.99, slowShare: 0.3, feedback: 0.05 };

export const FORMS: Readonly<Record<string, Form>> = {
  "current form": PRESENT,
  "no feedback": { ...PRESENT, feedback: 0 },
  "feedback 0.02": { ...PRESENT, feedback: 0.02 },
  "slower: 0.9, 0.98, share 0.6": { ...PRESENT, slowDecay: 0.98, slowShare: 0.6 },
  "tilt 0.05": { ...PRESENT, tilt: 0.05 },
  "mean of all, share 0.3": { ...PRESENT, slowDecay: "mean" },
  "mean of all, 0.84, share 0.4": { ...PRESENT, fastDecay: 0.84, slowDecay: "mean", slowShare: 0.4 },
  "the same, feedback 0": {
    fastDecay: 0.84,
    slowDecay: "mean",
    slowShare: 0.4,
    feedback: 0,
  },
  "the same, tilt 0.05": { ...PRESENT, fastDecay: 0.84, slowDecay: "mean", slowShare: 0.4, tilt: 0.05 },
  "the same, cap 4": { ...PRESENT, fastDecay: 0.84, slowDecay: "mean", slowShare: 0.4, cap: 4 },
  "mean of all, 0.78, share 0.44, feedback 0.04, tilt 0.03": {
    fastDecay: 0.78,
    slowDecay: "mean",
    slowShare: 0.44,
    feedback: 0.04,
    tilt: 0.03,
  },
  "mean of all, share 0.35, market 0.6": {
    fastDecay: 0.9,
    slowDecay: "mean",
    slowShare: 0.35,
    feedback: 0.03,
    market: [0.6, 0.8],
  },
};

const ALPHA = 0.1;

/** A row of a ticker: out of fold, or a score row. */
interface Row {
  readonly day: number;
  readonly realised: number;
  readonly predicted: number;
  readonly isScored: boolean;
  scale: number;
  slope: number;
  lower: number;
  upper: number;
}

/** How each form would have covered the score rows of an output: one cell per form, as text. */
export function triedForms(output: OutputBlob): ReadonlyMap<string, string> {
  const tickers = Object.keys(output.forecasts).map((ticker) => rowsOf(output, ticker));
  const present = covered(output, tickers, PRESENT);
  assertSame(output, present);
  const cells = Object.entries(FORMS).map(([name, form]) => {
    const rows = covered(output, tickers, form);
    const { pooled, by_volatility } = coverageTable(rows, ALPHA);
    const tenths = by_volatility.map(({ coverage }) => coverage!);
    const ratio = scoreRatio(
      rows.map((row, i) => [row, present[i]!]),
      ALPHA,
    )!;
    const [low, high] = [Math.min(...tenths), Math.max(...tenths)];
    const cell = [
      pooled.coverage!.toFixed(3),
      `${low.toFixed(3)} to ${high.toFixed(3)}`,
      pooled.worst_250!.toFixed(3),
      ratio.toFixed(3),
    ];
    return [name, cell.join("; ")] as const;
  });
  return new Map([...cells, ["standard error of a tenth", errors(present)]]);
}

/** Labels are known on the ticker's next date, because the demo's dates have no gaps. */
function rowsOf({ cross_validation, forecasts }: OutputBlob, ticker: string): Row[] {
  const made = (
    part: { dates: string[]; realised: (number | null)[]; predicted: number[] },
    isScored: boolean,
  ) =>
    part.dates.map((date, i) => ({
      day: parseDay(date)!,
      realised: part.realised[i] ?? Number.NaN,
      predicted: part.predicted[i]!,
      isScored,
      scale: Number.NaN,
      slope: 0,
      lower: Number.NaN,
      upper: Number.NaN,
    }));
  return [...made(cross_validation![ticker]!, false), ...made(forecasts[ticker]!, true)];
}

/** What is known about one ticker. */
class Tracker {
  fast: number;
  slow: number;
  seen: number;
  shift = 0;
  tilt = 0;
  readonly scores = new RunningQuantile(ALPHA);
  private readonly form: Form;

  constructor(form: Form, residuals: readonly Row[]) {
    this.form = form;
    this.seen = residuals.length;
    this.fast = residuals.reduce((sum, { realised, predicted }) => sum + Math.abs(realised - predicted), 0);
    this.fast /= this.seen;
    this.slow = this.fast;
  }

  /** @param market how large residuals of all tickers were recently, relative to their slow parts. */
  issue(row: Row, market: number): void {
    const { slowShare, market: [share] = [0, 0] } = this.form;
    row.scale = (1 - slowShare) * ((1 - share) * this.fast + share * market * this.slow);
    row.scale += slowShare * this.slow;
    row.slope = Math.max(-1, Math.min(1, Math.log(this.fast / this.slow)));
    if (!row.isScored) return;
    const distance = Math.max(0, this.scores.quantile()! + this.shift + this.tilt * row.slope) * row.scale;
    row.lower = row.predicted - distance;
    row.upper = row.predicted + distance;
  }

  /** @returns how large the residual was, relative to the slow part of the scale. */
  learn(row: Row): number {
    const { fastDecay, slowDecay, feedback, tilt = 0, cap = Number.POSITIVE_INFINITY } = this.form;
    const size = Math.abs(row.realised - row.predicted);
    const relative = size / this.slow;
    this.scores.add(size / row.scale);
    const taken = Math.min(size, cap * row.scale);
    this.seen++;
    const decay = slowDecay === "mean" ? 1 - 1 / this.seen : slowDecay;
    this.fast = fastDecay * this.fast + (1 - fastDecay) * taken;
    this.slow = decay * this.slow + (1 - decay) * taken;
    if (row.isScored) {
      const surprise = (row.realised < row.lower || row.realised > row.upper ? 1 : 0) - ALPHA;
      this.shift += feedback * surprise;
      this.tilt += tilt * surprise * row.slope;
    }
    return relative;
  }
}

/** The score rows with the ends of a form, all tickers date after date. */
function covered(output: OutputBlob, tickers: readonly (readonly Row[])[], form: Form): CoveredRows[] {
  const fresh = tickers.map((rows) => rows.map((row) => ({ ...row })));
  const trackers = fresh.map(
    (rows) =>
      new Tracker(
        form,
        rows.filter(({ isScored }) => !isScored),
      ),
  );
  const [, decay] = form.market ?? [0, 1];
  let market = 1;
  const next = fresh.map(() => 0);
  const days = [...new Set(fresh.flatMap((rows) => rows.map(({ day }) => day)))].sort((a, b) => a - b);
  for (const day of days) {
    const now = fresh.flatMap((rows, t) => (rows[next[t]!]?.day === day ? [t] : []));
    let [sum, count] = [0, 0];
    for (const t of now) {
      const before = fresh[t]![next[t]! - 1];
      if (before === undefined || Number.isNaN(before.realised)) continue;
      sum += trackers[t]!.learn(before);
      count++;
    }
    if (count > 0) market = decay * market + ((1 - decay) * sum) / count;
    for (const t of now) trackers[t]!.issue(fresh[t]![next[t]!++]!, market);
  }
  return fresh.map((rows, t) => coveredRows(Object.keys(output.forecasts)[t]!, rows));
}

function coveredRows(ticker: string, rows: readonly Row[]): CoveredRows {
  const scored = rows.filter(({ isScored }) => isScored);
  const of = (name: "realised" | "predicted" | "lower" | "upper") =>
    Float64Array.from(scored, (row) => row[name]);
  const volatility = recentVolatility(Float64Array.from(rows, ({ realised }) => realised));
  return {
    ticker,
    days: Int32Array.from(scored, ({ day }) => day),
    realised: of("realised"),
    predicted: of("predicted"),
    lower: of("lower"),
    upper: of("upper"),
    volatility: volatility.subarray(rows.length - scored.length),
  };
}

/** The present form must equal the intervals of the job. */
function assertSame({ metrics }: OutputBlob, rows: readonly CoveredRows[]): void {
  const ours = coverageTable(rows, ALPHA).by_volatility.map(({ n, coverage }) => [n, coverage]);
  const jobs = metrics.intervals!.by_volatility!.map(({ n, coverage }) => [n, coverage]);
  if (JSON.stringify(ours) !== JSON.stringify(jobs)) {
    throw new Error(`the current form covers ${JSON.stringify(ours)}, the job's ${JSON.stringify(jobs)}`);
  }
}

/** The smallest and the largest standard error of a tenth's coverage, with dates as units. */
function errors(tickers: readonly CoveredRows[]): string {
  const tenths = Array.from({ length: 10 }, () => new Map<number, [n: number, inside: number]>());
  for (const { days, realised, lower, upper, volatility } of tickers) {
    const labelled = [...realised.keys()].filter((i) => !Number.isNaN(realised[i]!));
    labelled.sort((a, b) => volatility[a]! - volatility[b]! || b - a);
    for (const [rank, i] of labelled.entries()) {
      const dates = tenths[Math.floor((10 * rank) / labelled.length)]!;
      const [n, inside] = dates.get(days[i]!) ?? [0, 0];
      const isInside = realised[i]! >= lower[i]! && realised[i]! <= upper[i]!;
      dates.set(days[i]!, [n + 1, inside + (isInside ? 1 : 0)]);
    }
  }
  const found = tenths.map((dates) => {
    const all = [...dates.values()];
    const n = all.reduce((sum, [rows]) => sum + rows, 0);
    const share = all.reduce((sum, [, inside]) => sum + inside, 0) / n;
    return Math.sqrt(all.reduce((sum, [rows, inside]) => sum + (inside - share * rows) ** 2, 0)) / n;
  });
  return `${Math.min(...found).toFixed(3)} to ${Math.max(...found).toFixed(3)}`;
}
