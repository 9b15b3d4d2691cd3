import { MucastError } from "../../contract/errors/errors.ts";
import { quote } from "../../ingest/blob-errors.ts";
import type { JsonReader, Waiting } from "../../ingest/json/json-reader.ts";
import { eachElement, eachMember, type Scalar, scalar, scalars } from "./json-parts.ts";

type Scalars = Record<string, Scalar> | null;

/** Which tickers are wanted: these, or so many of the largest |mu|. */
export type Wanted = { readonly tickers: readonly string[] } | { readonly largest: number };

/** What an output says of the wanted tickers and of all together, unchecked. */
export interface OutputParts {
  readonly plain: Record<string, Scalar>;
  window: Scalars;
  /** How many tickers have a `mu`; undefined until that has come. */
  count: number | undefined;
  /** `mu` of the wanted tickers that have one, in the order wanted. */
  mu: ReadonlyMap<string, number>;
  readonly metrics: Map<string, Scalars>;
  readonly coverage: Map<string, Scalars>;
  /** `pooled` and `cross_section` of all tickers. */
  readonly score: Map<string, Scalars>;
  /** The same; empty where the job had no folds. */
  readonly outOfFold: Map<string, Scalars>;
  readonly baselines: Map<string, Scalars>;
  intervals: Record<string, Scalar | Scalars> | null;
  /** Why wanted tickers have no `mu`: of their failures and warnings the first. */
  readonly reasons: Map<string, { readonly code: string; readonly message: string }>;
}

/** Warnings that say why a ticker has no mu. */
const REASONS: ReadonlySet<unknown> = new Set(["stale_ticker", "no_prices", "no_features"]);

/**
 * Reads of an output what is wanted and skips the rest; what is kept does not grow with the output. `mu` stands before
 * all that is by ticker, as every job writes it.
 */
export function* readParts(json: JsonReader, wanted: Wanted): Waiting<OutputParts> {
  const parts: OutputParts = {
    plain: {},
    window: null,
    count: undefined,
    mu: new Map(),
    metrics: new Map(),
    coverage: new Map(),
    score: new Map(),
    outOfFold: new Map(),
    baselines: new Map(),
    intervals: null,
    reasons: new Map(),
  };
  const asked = new Set("tickers" in wanted ? wanted.tickers : []);
  yield* eachMember(json, (key) => {
    if (key === "schema" || key === "id" || key === "operation") return readPlain(json, parts, key);
    if (key === "window") return readWindow(json, parts);
    if (key === "mu") return readMu(json, parts, wanted);
    if (key === "metrics") return readMetrics(json, parts);
    if (key === "failures") return readReasons(json, parts, asked, () => true);
    if (key === "warnings") return readReasons(json, parts, asked, (code) => REASONS.has(code));
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

/** A `mu` that no job writes would make a damaged output look like one without forecasts, so it is an error. */
function* readMu(json: JsonReader, parts: OutputParts, wanted: Wanted): Waiting<void> {
  const asked = new Set("tickers" in wanted ? wanted.tickers : []);
  const found = new Map<string, number>();
  const largest = new Largest<readonly [string, number]>("largest" in wanted ? wanted.largest : 0);
  let count = 0;
  const isObject = yield* eachMember(json, function* (ticker) {
    const mu = yield* scalar(json);
    if (typeof mu !== "number" || !Number.isFinite(mu))
      throw notOutput(`mu of ${quote(ticker)} is no finite number`);
    count += 1;
    if (asked.has(ticker)) found.set(ticker, mu);
    if ("largest" in wanted) largest.offer([ticker, mu], Math.abs(mu));
  });
  if (!isObject) throw notOutput("mu is no object");
  parts.count = count;
  parts.mu =
    "largest" in wanted
      ? new Map(largest.entries())
      : new Map([...asked].flatMap((ticker) => (found.has(ticker) ? [[ticker, found.get(ticker)!]] : [])));
}

function notOutput(what: string): MucastError {
  return new MucastError("invalid_data", `the output cannot be used: ${what}`);
}

function* readMetrics(json: JsonReader, parts: OutputParts): Waiting<void> {
  yield* eachMember(json, (key) => {
    if (key === "score") return readTable(json, parts.score, () => byTicker(json, parts, parts.metrics));
    if (key === "out_of_fold") return readTable(json, parts.outOfFold);
    if (key === "baselines") return readBaselines(json, parts);
    if (key === "intervals") return readIntervals(json, parts);
    return undefined;
  });
}

function* readTable(
  json: JsonReader,
  quality: Map<string, Scalars>,
  tickers?: () => Waiting<unknown>,
): Waiting<void> {
  yield* eachMember(json, (key) => {
    if (key === "pooled" || key === "cross_section") return keep(json, quality, key);
    return key === "by_ticker" ? tickers?.() : undefined;
  });
}

function* keep(json: JsonReader, into: Map<string, Scalars>, key: string): Waiting<void> {
  into.set(key, yield* scalars(json));
}

function byTicker(json: JsonReader, { mu }: OutputParts, into: Map<string, Scalars>): Waiting<unknown> {
  return eachMember(json, (ticker) => (mu.has(ticker) ? keep(json, into, ticker) : undefined));
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

function* readIntervals(json: JsonReader, parts: OutputParts): Waiting<void> {
  const found: Record<string, Scalar | Scalars> = {};
  const isObject = yield* eachMember(json, function* (key) {
    if (key === "by_ticker") yield* byTicker(json, parts, parts.coverage);
    else if (key === "pooled") found.pooled = yield* scalars(json);
    else if (key === "alpha" || key === "bound") found[key] = (yield* scalar(json)) ?? null;
    else yield* scalar(json);
  });
  parts.intervals = isObject ? found : null;
}

function* readReasons(
  json: JsonReader,
  { mu, reasons }: OutputParts,
  asked: ReadonlySet<string>,
  tells: (code: unknown) => boolean,
): Waiting<void> {
  yield* eachElement(json, function* () {
    const entry = yield* scalars(json);
    const { ticker, code, message } = entry ?? {};
    if (typeof ticker !== "string" || typeof code !== "string" || typeof message !== "string") return;
    if (asked.has(ticker) && !mu.has(ticker) && !reasons.has(ticker) && tells(code)) {
      reasons.set(ticker, { code, message });
    }
  });
}

/** The entries of the largest size among all that are offered, at most so many; memory does not grow with the rest. */
export class Largest<T> {
  readonly #most: number;
  readonly #kept: { readonly entry: T; readonly size: number }[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Of equal sizes the one that was offered first comes first. */
  offer(entry: T, size: number): void {
    const kept = this.#kept;
    if (kept.length === this.#most && size <= kept.at(-1)!.size) return;
    const place = kept.findIndex((other) => other.size < size);
    kept.splice(place < 0 ? kept.length : place, 0, { entry, size });
    if (kept.length > this.#most) kept.pop();
  }

  /** The largest first. */
  entries(): T[] {
    return this.#kept.map(({ entry }) => entry);
  }
}
