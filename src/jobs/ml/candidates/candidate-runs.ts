import type { Candidate } from "../../../contract/config/choice/candidates.ts";
import type { MlCandidates } from "../../../contract/config/choice/ml-candidates.ts";
import type { MlSettings } from "../../../contract/config/ml-settings.ts";
import { MucastError } from "../../../contract/errors/errors.ts";
import type { Day } from "../../../contract/market/dates.ts";
import { compareCodePoints } from "../../../contract/market/ticker-series.ts";
import type { Failure } from "../../../contract/problems/problem.ts";
import type { RefitBlock } from "../../../panel/refit-blocks.ts";
import { SharedPanels } from "../../shared/choice/compared-panels.ts";
import { errorOfCandidate, lostTickers } from "../../shared/choice/lost-tickers.ts";
import type { JobContext } from "../../shared/job.ts";
import { requireForecasts } from "../../shared/require-forecasts.ts";
import { FitTimings } from "../../shared/timings.ts";
import type { FitPart } from "../fit-part.ts";
import type { FitOptions } from "../fit-ticker.ts";
import { type BlockedOutcome, fitCompared, type OnFits, type ReadyPanels } from "../fit-together.ts";
import type { FittedTicker } from "../fitted-ticker.ts";
import type { ListedPanel } from "../pooled-tickers.ts";
import {
  type CandidateForecasts,
  forecastsOf,
  joinedForecasts,
  joinedWarnings,
} from "./candidate-forecasts.ts";
import { CandidateProgress, fitCount } from "./candidate-progress.ts";
import type { BaseFits } from "./candidate-ticker.ts";
import { SharedFits } from "./shared-fits.ts";

/** The finished fits of one candidate. */
export interface CandidateOutcome {
  readonly candidate: Candidate<MlSettings>;
  readonly outcome: Omit<BlockedOutcome, "fitted">;
  /** By ticker, ascending by code point. */
  readonly forecasts: ReadonlyMap<string, CandidateForecasts>;
}

/** What all candidates are fitted on. */
interface CandidatePanels {
  readonly shared: SharedPanels<ListedPanel>;
  /** One per candidate. */
  readonly settings: readonly MlSettings[];
  readonly blocks: readonly RefitBlock[];
  readonly panels: readonly ListedPanel[];
}

/** The fits of candidates, in one part or in several. */
export class CandidateRuns {
  /** One per candidate that has had fits. */
  readonly outcomes: CandidateOutcome[] = [];
  readonly bases = new Map<string, BaseFits>();
  readonly #choice: MlCandidates;
  readonly #asOf: Day;
  readonly #on: CandidatePanels;
  readonly #options: FitOptions;
  readonly #context: JobContext;
  readonly #progress: CandidateProgress;

  constructor(
    choice: MlCandidates,
    asOf: Day,
    on: CandidatePanels,
    options: FitOptions,
    context: JobContext,
    onFits: OnFits,
  ) {
    this.#choice = choice;
    this.#asOf = asOf;
    this.#on = on;
    this.#options = options;
    this.#context = context;
    const { shared, settings, blocks } = on;
    const isCounted = shared.of(settings[0]!).late === undefined;
    const counts = settings.map((own) => fitCount(shared.of(own).prepared.panels, own, blocks));
    this.#progress = new CandidateProgress(isCounted ? counts : undefined, onFits);
  }

  get candidates(): readonly number[] {
    return [...this.#choice.candidates.keys()];
  }

  /** Runs one part of the fits of some candidates, ascending. @throws MucastError like `fitCandidates`. */
  async run(candidates: readonly number[], part: FitPart): Promise<void> {
    const settings = candidates.map((c) => this.#on.settings[c]!);
    const sharedFits = new SharedFits(this.#options.pool, settings);
    for (const [i, c] of candidates.entries()) {
      await this.#runCandidate(c, part, sharedFits.poolOf(i));
      sharedFits.finish(i);
      this.#requireTickers();
    }
  }

  /** Says that candidates get no further fits. */
  drop(candidates: readonly number[]): void {
    this.#progress.drop(candidates);
  }

  async #runCandidate(c: number, part: FitPart, pool: FitOptions["pool"]): Promise<void> {
    const { shared, settings, blocks } = this.#on;
    const { folder, ...linked } = shared.linked(settings[c]!);
    const ready = { ...linked, blocks };
    const options = {
      ...this.#options,
      settings: settings[c]!,
      pool,
      part,
      workFolder: folder,
      timings: new FitTimings(this.#context),
    };
    const onFits = this.#progress.start(c);
    const done = await fitCompared(ready, options, this.#context, onFits).catch((error: unknown) =>
      failedOutcome(error, ready, c, this.#choice.candidates[c]!.label),
    );
    SharedPanels.removeLinked(folder);
    if (part.isFinal) this.#progress.finish(c);
    this.#add(c, done, part);
  }

  #add(c: number, { fitted, ...outcome }: BlockedOutcome, { isFinal }: FitPart): void {
    const forecasts = new Map(fitted.map((own) => [own.ticker, forecastsOf(own, this.#sameDates(own))]));
    const own = { candidate: this.#choice.candidates[c]!, outcome, forecasts };
    const before = this.outcomes[c];
    this.outcomes[c] = before === undefined ? own : joinedOutcomes(before, own);
    if (!isFinal) return;
    for (const fits of fitted) {
      const isWhole = this.outcomes[c].forecasts.has(fits.ticker);
      const isFirst = c < (this.bases.get(fits.ticker)?.candidate ?? Number.POSITIVE_INFINITY);
      if (isWhole && isFirst) this.bases.set(fits.ticker, { candidate: c, fits });
    }
  }

  /** The forecasts of the first candidate that could fit the ticker. */
  #sameDates({ ticker }: FittedTicker): CandidateForecasts | undefined {
    return this.outcomes.find(({ forecasts }) => forecasts.has(ticker))?.forecasts.get(ticker);
  }

  #requireTickers(): void {
    const lost = lostTickers(this.outcomes);
    if (this.#on.panels.every(({ ticker }) => lost.has(ticker)))
      requireForecasts([], [...lost.values()], this.#asOf);
  }
}

/** A ticker that failed in one part has no forecasts. */
function joinedOutcomes(a: CandidateOutcome, b: CandidateOutcome): CandidateOutcome {
  const failures = [...a.outcome.failures, ...b.outcome.failures];
  const byTicker = new Map(failures.toReversed().map((failure) => [failure.ticker, failure]));
  const tickers = new Set([...a.forecasts.keys(), ...b.forecasts.keys()]);
  const whole = [...tickers].filter((ticker) => !byTicker.has(ticker)).sort(compareCodePoints);
  return {
    candidate: b.candidate,
    outcome: {
      ...b.outcome,
      failures: [...byTicker.values()].sort((x, y) => compareCodePoints(x.ticker, y.ticker)),
      warnings: joinedWarnings(a.outcome.warnings, b.outcome.warnings),
    },
    forecasts: new Map(
      whole.map((ticker) => {
        const [before, own] = [a.forecasts.get(ticker), b.forecasts.get(ticker)];
        return [ticker, before && own ? joinedForecasts(before, own) : (before ?? own)!];
      }),
    ),
  };
}

/** A pooled fit that fails leaves its candidate without any ticker. @throws any other error, with the name of the candidate. */
function failedOutcome(
  error: unknown,
  { prepared, blocks }: ReadyPanels,
  c: number,
  label: string,
): BlockedOutcome {
  if (!(error instanceof MucastError)) throw error;
  const { code, message } = error;
  if (code === "engine_crashed") throw errorOfCandidate(error, c, label);
  if (code !== "fit_failed") throw error;
  const failures = prepared.panels.map(({ ticker }): Failure => ({ ticker, code, message }));
  return { fitted: [], failures: [...prepared.failures, ...failures], blocks, listed: [], warnings: [] };
}
