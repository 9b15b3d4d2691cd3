import type { Candidate } from "../../contract/config/choice/candidates.ts";
import type { DlSettings } from "../../contract/config/dl-settings.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { DatedPredictions } from "../shared/choice/aligned-forecasts.ts";
import type { TrainedTicker } from "./planned-network.ts";
import type { TrainOutcome } from "./trained-blocks.ts";

/** What the choice needs of a candidate's networks of one ticker. */
export interface CandidateForecasts {
  readonly validation: DatedPredictions;
  readonly calibration: DatedPredictions;
  readonly score: DatedPredictions;
  /** Of its own ensemble. */
  readonly spread?: number;
  readonly warnings: readonly Warning[];
}

/** The finished networks of one candidate. */
export interface CandidateNetworks {
  readonly candidate: Candidate<DlSettings>;
  readonly outcome: Omit<TrainOutcome, "trained">;
  readonly forecasts: ReadonlyMap<string, CandidateForecasts>;
}

/** The finished networks of all candidates. */
export interface TrainedCandidates {
  /** One per candidate. */
  readonly outcomes: readonly CandidateNetworks[];
  /** By ticker, all that the first candidate that could train on it has. That of all candidates would take much more memory. */
  readonly bases: ReadonlyMap<string, TrainedTicker>;
}

/** Gathers the networks of candidates as they end. */
export class CandidateGatherer {
  readonly #outcomes: CandidateNetworks[] = [];
  readonly #bases = new Map<string, TrainedTicker>();

  add(candidate: Candidate<DlSettings>, { trained, ...outcome }: TrainOutcome): void {
    for (const own of trained) if (!this.#bases.has(own.ticker)) this.#bases.set(own.ticker, own);
    const forecasts = new Map(
      trained.map((own) => [own.ticker, forecastsOf(own, this.#bases.get(own.ticker)!)] as const),
    );
    // Only the training of the first candidate is recorded.
    const kept =
      this.#outcomes.length === 0 ? outcome : { ...outcome, training: new Map(), blockTraining: new Map() };
    this.#outcomes.push({ candidate, outcome: kept, forecasts });
  }

  finish(): TrainedCandidates {
    return { outcomes: this.#outcomes, bases: this.#bases };
  }
}

/** Equal dates are kept once. */
function forecastsOf(own: TrainedTicker, base: TrainedTicker): CandidateForecasts {
  const { spread, warnings } = own;
  const dated = (part: "validation" | "calibration" | "score"): DatedPredictions => {
    const { days, predicted, spans } = own[part];
    const other = base[part].days;
    const isEqual = other.length === days.length && days.every((day, i) => day === other[i]);
    return { days: isEqual ? other : days, predicted, spans };
  };
  return {
    validation: dated("validation"),
    calibration: dated("calibration"),
    score: dated("score"),
    warnings,
    ...(spread === undefined ? {} : { spread }),
  };
}
