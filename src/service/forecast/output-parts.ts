import { LIMITS } from "../../contract/config/limits.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { quote } from "../../ingest/blob-errors.ts";
import {
  byName,
  completely,
  eachElement,
  eachMember,
  last,
  members,
  type Read,
  scalar,
  scalars,
  scalarsAnd,
} from "../../ingest/json/json-parts.ts";
import type { JsonReader, Waiting } from "../../ingest/json/json-reader.ts";

/** The wanted tickers: by name, or the given number of those with the largest |mu|. */
export type TickerSelection = { readonly tickers: readonly string[] } | { readonly largest: number };

/** More than a verdict over four sets of rows needs. */
const VERDICT_BUDGET = { values: 400, letters: 20_000 };

/** More than what an order is worth at three closes, and beside five exposures, needs. */
const ORDER_BUDGET = { values: 80, letters: 2_000 };

/** Codes of warnings that explain why a ticker has no `mu`. */
const REASONS: ReadonlySet<string> = new Set<Warning["code"]>(["stale_ticker", "no_prices", "no_features"]);

const coverage = scalarsAnd({ prequential: scalars });

/** Metrics of all tickers: a table without its tickers. */
const quality = {
  ...{ pooled: scalars, cross_section: scalars, r2_zero_median: scalar },
  ...{ by_delay: completely(ORDER_BUDGET), exposures: completely(ORDER_BUDGET) },
};

/** The parts of an output that a forecast needs, unchecked. */
export type OutputParts = ReturnType<typeof readForecastParts> extends Waiting<infer T> ? T : never;

/**
 * Reads the wanted parts of an output and skips the rest, so that memory does not grow with the output. Relies on the order in which
 * every job writes: `mu` before all parts by ticker.
 */
export function* readForecastParts(json: JsonReader, wanted: TickerSelection) {
  const names = new Set("tickers" in wanted ? wanted.tickers : []);
  let found: FoundMu = { count: undefined, mu: new Map() };
  const ofMu = <T>(read: Read<T>) => byName(read, (ticker) => found.mu.has(ticker));
  const reasons = new Map<string, Reason>();
  const explain = (explains: (code: string) => boolean) => (json: JsonReader) =>
    readReasons(json, explains, (ticker, reason) => {
      if (names.has(ticker) && !found.mu.has(ticker) && !reasons.has(ticker)) reasons.set(ticker, reason);
    });
  const parts = yield* members({
    ...{ schema: scalar, id: scalar, operation: scalar },
    window: scalars,
    verdict: completely(VERDICT_BUDGET),
    *mu(json: JsonReader) {
      found = yield* readMu(json, names, "largest" in wanted ? wanted.largest : 0);
    },
    mu_dates: ofMu(scalar),
    mu_model: ofMu(scalar),
    mu_spread: ofMu(scalar),
    // A list may be long, and only its last element is kept.
    forecasts: ofMu(members({ dates: last(scalar), lower: last(scalar), upper: last(scalar) })),
    refits: members({ blocks: readBlocks }),
    choice: members({
      ...{ candidates: readCandidates, honest: scalars, measure: scalar, best: scalar, optimism: scalar },
    }),
    metrics: members({
      score: members({ ...quality, by_ticker: ofMu(scalars) }),
      out_of_fold: members(quality),
      baselines: byName(members({ score: members({ pooled: scalars }) })),
      shrinkage: members({
        ...{ pooled: scalars, by_date: scalars, by_ticker: ofMu(scalars), applied: ofMu(scalar) },
      }),
      intervals: members({
        ...{ method: scalar, alpha: scalar, bound: scalar },
        pooled: coverage,
        by_ticker: ofMu(coverage),
      }),
    }),
    failures: explain(() => true),
    warnings: explain((code) => REASONS.has(code)),
  })(json);
  return { ...parts, ...found, reasons };
}

interface FoundMu {
  /** The number of tickers with a `mu`; undefined if the output has no `mu`. */
  readonly count: number | undefined;
  /** `mu` of the wanted tickers that have one: in the order of the names, or by |mu|, the largest first. */
  readonly mu: ReadonlyMap<string, number>;
}

/** A `mu` that no job writes is an error: otherwise a damaged output would look like one without forecasts. */
function* readMu(json: JsonReader, names: ReadonlySet<string>, most: number): Waiting<FoundMu> {
  const named = new Map<string, number>();
  const largest = new Largest(most);
  let count = 0;
  const isObject = yield* eachMember(json, function* (ticker) {
    const mu = yield* scalar(json);
    if (typeof mu !== "number" || !Number.isFinite(mu))
      throw notOutput(`mu of ${quote(ticker)} is not a finite number`);
    count += 1;
    if (names.has(ticker)) named.set(ticker, mu);
    largest.offer(ticker, mu);
  });
  if (!isObject) throw notOutput("mu is not an object");
  const inOrder = [...names].flatMap((name) => (named.has(name) ? [[name, named.get(name)!] as const] : []));
  return { count, mu: new Map([...inOrder, ...largest.entries()]) };
}

function notOutput(what: string): MucastError {
  return new MucastError("invalid_data", `the output cannot be used: ${what}`);
}

/** Counts the blocks of score rows after the first; the models of each are fitted on its first date. */
function* readBlocks(json: JsonReader) {
  let count = -1;
  let start: unknown;
  yield* eachElement(json, function* () {
    const block = yield* scalars(json);
    count++;
    start = block?.start;
  });
  return count < 1 ? undefined : { count, last: start };
}

const candidateParts = members({
  ...{ label: scalar, r2: scalar, ic: scalar, gain: scalar, gain_t: scalar, tickers: scalar, member: scalar },
});

type CandidateParts = typeof candidateParts extends Read<infer T> ? NonNullable<T> : never;

/** Reads the candidates without their settings. */
function* readCandidates(json: JsonReader) {
  const candidates: CandidateParts[] = [];
  yield* eachElement(json, function* () {
    const candidate = yield* candidateParts(json);
    if (candidate !== null && candidates.length < LIMITS.candidates) candidates.push(candidate);
  });
  return candidates;
}

/** Why a ticker has no `mu`. */
interface Reason {
  readonly code: string;
  readonly message: string;
}

function* readReasons(
  json: JsonReader,
  explains: (code: string) => boolean,
  onReason: (ticker: string, reason: Reason) => void,
): Waiting<void> {
  yield* eachElement(json, function* () {
    const { ticker, code, message } = (yield* scalars(json)) ?? {};
    if (typeof ticker !== "string" || typeof code !== "string" || typeof message !== "string") return;
    if (explains(code)) onReason(ticker, { code, message });
  });
}

/** Keeps the tickers with the largest |mu|, up to a maximum number, in bounded memory. */
class Largest {
  readonly #most: number;
  readonly #kept: (readonly [ticker: string, mu: number])[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Of equal sizes, the ticker offered first comes first. */
  offer(ticker: string, mu: number): void {
    const kept = this.#kept;
    const size = Math.abs(mu);
    if (kept.length === this.#most && !(size > Math.abs(kept.at(-1)?.[1] ?? Number.POSITIVE_INFINITY)))
      return;
    const index = kept.findIndex(([, other]) => Math.abs(other) < size);
    kept.splice(index < 0 ? kept.length : index, 0, [ticker, mu]);
    if (kept.length > this.#most) kept.pop();
  }

  /** The largest first. */
  entries(): readonly (readonly [ticker: string, mu: number])[] {
    return this.#kept;
  }
}
