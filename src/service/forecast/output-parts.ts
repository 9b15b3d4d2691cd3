import { MucastError } from "../../contract/errors/errors.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { quote } from "../../ingest/blob-errors.ts";
import type { JsonReader, Waiting } from "../../ingest/json/json-reader.ts";
import { eachElement, eachMember, readCompletely, type Scalar, scalar, scalars } from "./json-parts.ts";

type Scalars = Record<string, Scalar> | null;

/** The members of a table of metrics. */
type Quality = Map<string, Scalars | Scalar>;

/** The figures of the intervals of one ticker or of all, and of the residuals. */
type CoverageParts = Record<string, Scalar | Scalars> | null;

/** The wanted tickers: by name, or the given number of those with the largest |mu|. */
export type TickerSelection = { readonly tickers: readonly string[] } | { readonly largest: number };

/** The last element of each list of a ticker's forecasts. */
interface IntervalEnds {
  readonly dates?: Scalar;
  readonly lower?: Scalar;
  readonly upper?: Scalar;
}

/** The parts of an output that a forecast needs, unchecked. */
export interface OutputParts {
  readonly plain: Record<string, Scalar>;
  window: Scalars;
  /** Undefined if the output has none, or a larger one than any job writes. */
  verdict: unknown;
  /** How often models were refitted, and when last; undefined if they were not. */
  refits: { readonly count: number; readonly last: Scalar | undefined } | undefined;
  /** The number of tickers with a `mu`; undefined if the output has no `mu`. */
  count: number | undefined;
  /** `mu` of the wanted tickers that have one: in the order of the names, or by |mu|, the largest first. */
  mu: ReadonlyMap<string, number>;
  /** The dates of these; outputs of versions before 0.2 have none. */
  readonly muDates: Map<string, Scalar>;
  /** The spread of ensemble members for these; empty without an ensemble. */
  readonly muSpread: Map<string, Scalar>;
  /** The interval around each of these, and its date. */
  readonly ends: Map<string, IntervalEnds>;
  readonly metrics: Map<string, Scalars>;
  readonly coverage: Map<string, CoverageParts>;
  /** The verdict on the forecasts; outputs of versions before 0.2 have none. */
  readonly shrinkage: Map<string, Scalars>;
  pooledShrinkage: Scalars;
  /** Metrics of all tickers: a table without its tickers. */
  readonly score: Quality;
  /** The same out of fold; empty if the job had no folds. */
  readonly outOfFold: Quality;
  readonly baselines: Map<string, Scalars>;
  intervals: Record<string, Scalar | CoverageParts> | null;
  /** Why a wanted ticker has no `mu`: the first of its failures and warnings. */
  readonly reasons: Map<string, { readonly code: string; readonly message: string }>;
}

/** Codes of warnings that explain why a ticker has no `mu`. */
const REASONS: ReadonlySet<string> = new Set<Warning["code"]>(["stale_ticker", "no_prices", "no_features"]);

/**
 * Reads the wanted parts of an output and skips the rest, so that memory does not grow with the output. Relies on the order in which
 * every job writes: `mu` before all parts by ticker.
 */
export function* readParts(json: JsonReader, wanted: TickerSelection): Waiting<OutputParts> {
  const parts: OutputParts = {
    plain: {},
    window: null,
    verdict: undefined,
    refits: undefined,
    count: undefined,
    mu: new Map(),
    muDates: new Map(),
    muSpread: new Map(),
    ends: new Map(),
    metrics: new Map(),
    coverage: new Map(),
    shrinkage: new Map(),
    pooledShrinkage: null,
    score: new Map(),
    outOfFold: new Map(),
    baselines: new Map(),
    intervals: null,
    reasons: new Map(),
  };
  const selected = new Set("tickers" in wanted ? wanted.tickers : []);
  yield* eachMember(json, (key) => {
    if (key === "schema" || key === "id" || key === "operation") return readPlain(json, parts, key);
    if (key === "window") return readWindow(json, parts);
    if (key === "verdict") return readVerdict(json, parts);
    if (key === "mu") return readMu(json, parts, wanted);
    if (key === "mu_dates") return readOfMu(json, parts, parts.muDates);
    if (key === "mu_spread") return readOfMu(json, parts, parts.muSpread);
    if (key === "forecasts") return readEnds(json, parts);
    if (key === "refits") return readRefits(json, parts);
    if (key === "metrics") return readMetrics(json, parts);
    if (key === "failures") return readReasons(json, parts, selected, () => true);
    if (key === "warnings") return readReasons(json, parts, selected, (code) => REASONS.has(code));
    return undefined;
  });
  return parts;
}

function* readPlain(json: JsonReader, parts: OutputParts, key: string): Waiting<void> {
  const value = yield* scalar(json);
  if (value !== undefined) parts.plain[key] = value;
}

function* readWindow(json: JsonReader, parts: OutputParts): Waiting<void> {
  parts.window = yield* scalars(json);
}

/** More than a verdict over four sets of rows needs. */
const VERDICT_BUDGET = { values: 400, letters: 20_000 };

function* readVerdict(json: JsonReader, parts: OutputParts): Waiting<void> {
  parts.verdict = yield* readCompletely(json, { ...VERDICT_BUDGET });
}

/** Counts the blocks of score rows after the first; the models of each are fitted on its first date. */
function* readRefits(json: JsonReader, parts: OutputParts): Waiting<void> {
  let blocks = 0;
  yield* eachMember(json, (key) => {
    if (key !== "blocks") return undefined;
    return eachElement(json, function* () {
      const block = yield* scalars(json);
      if (blocks > 0) parts.refits = { count: blocks, last: block?.start };
      blocks++;
    });
  });
}

/** A `mu` that no job writes is an error: otherwise a damaged output would look like one without forecasts. */
function* readMu(json: JsonReader, parts: OutputParts, wanted: TickerSelection): Waiting<void> {
  const selected = new Set("tickers" in wanted ? wanted.tickers : []);
  const found = new Map<string, number>();
  const largest = new Largest<readonly [string, number]>("largest" in wanted ? wanted.largest : 0);
  let count = 0;
  const isObject = yield* eachMember(json, function* (ticker) {
    const mu = yield* scalar(json);
    if (typeof mu !== "number" || !Number.isFinite(mu))
      throw notOutput(`mu of ${quote(ticker)} is not a finite number`);
    count += 1;
    if (selected.has(ticker)) found.set(ticker, mu);
    if ("largest" in wanted) largest.offer([ticker, mu], Math.abs(mu));
  });
  if (!isObject) throw notOutput("mu is not an object");
  parts.count = count;
  parts.mu =
    "largest" in wanted
      ? new Map(largest.entries())
      : new Map([...selected].flatMap((ticker) => (found.has(ticker) ? [[ticker, found.get(ticker)!]] : [])));
}

/** The values that accompany the `mu` of the wanted tickers. */
function* readOfMu(json: JsonReader, { mu }: OutputParts, found: Map<string, Scalar>): Waiting<void> {
  yield* eachMember(json, (ticker) => {
    if (!mu.has(ticker)) return undefined;
    return (function* () {
      const value = yield* scalar(json);
      if (value !== undefined) found.set(ticker, value);
    })();
  });
}

/** Only for the wanted tickers; a list may be long, and only its last element is kept. */
function readEnds(json: JsonReader, { mu, ends }: OutputParts): Waiting<unknown> {
  return eachMember(json, (ticker) => {
    if (!mu.has(ticker)) return undefined;
    const last: Record<string, Scalar> = {};
    ends.set(ticker, last);
    return eachMember(json, (key) => {
      if (key !== "dates" && key !== "lower" && key !== "upper") return undefined;
      return eachElement(json, function* () {
        const value = yield* scalar(json);
        if (value !== undefined) last[key] = value;
      });
    });
  });
}

function notOutput(what: string): MucastError {
  return new MucastError("invalid_data", `the output cannot be used: ${what}`);
}

function* readMetrics(json: JsonReader, parts: OutputParts): Waiting<void> {
  yield* eachMember(json, (key) => {
    if (key === "score") return readTable(json, parts.score, () => byTicker(json, parts, parts.metrics));
    if (key === "out_of_fold") return readTable(json, parts.outOfFold);
    if (key === "baselines") return readBaselines(json, parts);
    if (key === "shrinkage") return readShrinkage(json, parts);
    if (key === "intervals") return readIntervals(json, parts);
    return undefined;
  });
}

function* readTable(json: JsonReader, quality: Quality, tickers?: () => Waiting<unknown>): Waiting<void> {
  yield* eachMember(json, (key) => {
    if (key === "pooled" || key === "cross_section") return keep(json, quality, key);
    if (key === "r2_zero_median") return keepMedian(json, quality, key);
    return key === "by_ticker" ? tickers?.() : undefined;
  });
}

function* keep(json: JsonReader, into: Map<string, Scalars | Scalar>, key: string): Waiting<void> {
  into.set(key, yield* scalars(json));
}

function* keepMedian(json: JsonReader, into: Quality, key: string): Waiting<void> {
  const value = yield* scalar(json);
  if (value !== undefined) into.set(key, value);
}

function byTicker(json: JsonReader, { mu }: OutputParts, into: Map<string, Scalars>): Waiting<unknown> {
  return eachMember(json, (ticker) => (mu.has(ticker) ? keep(json, into, ticker) : undefined));
}

function coverageByTicker(json: JsonReader, { mu, coverage }: OutputParts): Waiting<unknown> {
  return eachMember(json, (ticker) => {
    if (!mu.has(ticker)) return undefined;
    return readCoverage(json, (found) => coverage.set(ticker, found));
  });
}

function* readCoverage(json: JsonReader, keep: (found: CoverageParts) => void): Waiting<void> {
  const found: Record<string, Scalar | Scalars> = {};
  const isObject = yield* eachMember(json, function* (key) {
    const value = key === "prequential" ? yield* scalars(json) : yield* scalar(json);
    if (value !== undefined) found[key] = value;
  });
  keep(isObject ? found : null);
}

function* readBaselines(json: JsonReader, { baselines }: OutputParts): Waiting<void> {
  yield* eachMember(json, (name) =>
    eachMember(json, (part) => {
      if (part !== "score") return undefined;
      const pooled = new Map<string, Scalars>();
      return (function* () {
        yield* readTable(json, pooled);
        baselines.set(name, pooled.get("pooled") ?? null);
      })();
    }),
  );
}

function* readShrinkage(json: JsonReader, parts: OutputParts): Waiting<void> {
  yield* eachMember(json, (key) => {
    if (key === "by_ticker") return byTicker(json, parts, parts.shrinkage);
    if (key !== "pooled") return undefined;
    return (function* () {
      parts.pooledShrinkage = yield* scalars(json);
    })();
  });
}

function* readIntervals(json: JsonReader, parts: OutputParts): Waiting<void> {
  const found: Record<string, Scalar | CoverageParts> = {};
  const isObject = yield* eachMember(json, (key) => {
    if (key === "by_ticker") return coverageByTicker(json, parts);
    if (key === "pooled") return readCoverage(json, (pooled) => Object.assign(found, { pooled }));
    if (key === "method" || key === "alpha" || key === "bound") return keepScalar(json, found, key);
    return undefined;
  });
  parts.intervals = isObject ? found : null;
}

function* keepScalar(
  json: JsonReader,
  into: Record<string, Scalar | CoverageParts>,
  key: string,
): Waiting<void> {
  const value = yield* scalar(json);
  if (value !== undefined) into[key] = value;
}

function* readReasons(
  json: JsonReader,
  { mu, reasons }: OutputParts,
  selected: ReadonlySet<string>,
  explains: (code: string) => boolean,
): Waiting<void> {
  yield* eachElement(json, function* () {
    const entry = yield* scalars(json);
    const { ticker, code, message } = entry ?? {};
    if (typeof ticker !== "string" || typeof code !== "string" || typeof message !== "string") return;
    if (selected.has(ticker) && !mu.has(ticker) && !reasons.has(ticker) && explains(code)) {
      reasons.set(ticker, { code, message });
    }
  });
}

/** Keeps the largest of the offered entries, up to a maximum number, in bounded memory. */
class Largest<T> {
  readonly #most: number;
  readonly #kept: { readonly entry: T; readonly size: number }[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Of equal sizes, the entry offered first comes first. */
  offer(entry: T, size: number): void {
    const kept = this.#kept;
    if (kept.length === this.#most && size <= kept.at(-1)!.size) return;
    const index = kept.findIndex((other) => other.size < size);
    kept.splice(index < 0 ? kept.length : index, 0, { entry, size });
    if (kept.length > this.#most) kept.pop();
  }

  /** The largest first. */
  entries(): T[] {
    return this.#kept.map(({ entry }) => entry);
  }
}
