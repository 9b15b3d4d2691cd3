import type { MlCandidates } from "../../../contract/config/choice/ml-candidates.ts";
import { inTurns } from "../../../contract/machine/pausable.ts";
import type { Day } from "../../../contract/market/dates.ts";
import { compareCodePoints } from "../../../contract/market/ticker-series.ts";
import type { TestedTicker } from "../../../evaluate/choice/candidate-losses.ts";
import { choosePrequentially } from "../../../evaluate/choice/prequential.ts";
import { candidatesBehind, comparisonDays, type DroppedCandidates } from "../../../evaluate/choice/racing.ts";
import { lostTickers } from "../../shared/choice/lost-tickers.ts";
import { ALL_FITS, FINAL_FITS } from "../fit-part.ts";
import type { CandidateRuns } from "./candidate-runs.ts";
import { candidateTicker } from "./candidate-ticker.ts";

/**
 * Fits the candidates fold by fold in time order, and drops those that fall behind, so that they need no further fits. Only members and
 * stand-ins get the fits that predict score rows. Candidate 0 has all fits.
 *
 * Timing: a candidate is dropped on the first date of a fold, by losses that are known at its close, so no forecast depends on a later label.
 */
export async function raceCandidates(
  runs: CandidateRuns,
  choice: MlCandidates,
  signal: AbortSignal,
): Promise<DroppedCandidates> {
  const dropped = new Map<number, Day>();
  const racing = () => runs.candidates.filter((c) => c !== 0 && !dropped.has(c));
  await runs.run([0], ALL_FITS);
  const days = comparisonDays(testedTickers(runs, choice), foldCount(choice));
  for (const [r, day] of [...days, Number.POSITIVE_INFINITY].entries()) {
    await runs.run(racing(), { from: days[r - 1] ?? Number.NEGATIVE_INFINITY, to: day, isFinal: false });
    if (day === Number.POSITIVE_INFINITY) break;
    const tickers = testedTickers(runs, choice);
    const comparison = candidatesBehind(tickers, runs.candidates.length, choice.measure, dropped, day);
    const needed = standIns(runs, dropped);
    const behind = (await inTurns(comparison, signal)).filter((c) => !needed.has(c));
    for (const c of behind) dropped.set(c, day);
    runs.drop(behind);
  }
  await fitMembers(runs, choice, dropped, signal);
  return dropped;
}

/** Runs the final fits of the members and the stand-ins. A ticker on which one of them fails has fewer losses, which may change the members. */
async function fitMembers(
  runs: CandidateRuns,
  choice: MlCandidates,
  dropped: DroppedCandidates,
  signal: AbortSignal,
): Promise<void> {
  const fitted = new Set([0]);
  for (;;) {
    const tickers = testedTickers(runs, choice);
    const comparison = choosePrequentially(tickers, runs.candidates.length, { ...choice, dropped });
    const { members } = await inTurns(comparison, signal);
    const needed = new Set([...members, ...standIns(runs, dropped)]);
    const further = runs.candidates.filter((c) => needed.has(c) && !fitted.has(c));
    if (further.length === 0) break;
    for (const c of further) fitted.add(c);
    await runs.run(further, FINAL_FITS);
  }
  runs.drop(runs.candidates.filter((c) => !fitted.has(c)));
}

/** For each ticker that candidate 0 could not fit, the first candidate left that could so far. Without it, the ticker might have no forecasts. */
function standIns({ outcomes }: CandidateRuns, dropped: DroppedCandidates): ReadonlySet<number> {
  const lost = lostTickers(outcomes);
  const fitted = new Set([...lost.keys(), ...outcomes[0]!.forecasts.keys()]);
  const found = new Set<number>();
  for (const [c, { forecasts }] of outcomes.entries()) {
    if (dropped.has(c)) continue;
    const further = [...forecasts.keys()].filter((ticker) => !fitted.has(ticker));
    if (further.length > 0) found.add(c);
    for (const ticker of further) fitted.add(ticker);
  }
  return found;
}

/** The rows that folds test, with the forecasts so far, of tickers that have final fits and that no candidate lost. */
function testedTickers({ outcomes, bases }: CandidateRuns, choice: MlCandidates): TestedTicker[] {
  const lost = lostTickers(outcomes);
  const kept = [...bases].filter(([ticker]) => !lost.has(ticker));
  const tickers = kept.map(([ticker, base]) => {
    const fitted = choice.candidates.map((_, c) => outcomes[c]?.forecasts.get(ticker));
    return candidateTicker(base, fitted, choice).tested;
  });
  return tickers.sort((a, b) => compareCodePoints(a.ticker, b.ticker));
}

function foldCount({ candidates, warmUp }: MlCandidates): number {
  return candidates[0]!.settings.nSplits + warmUp;
}
