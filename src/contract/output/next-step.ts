import type { LaterFigures } from "./metrics-schemas.ts";
import type { Verdict, VerdictState } from "./verdict.ts";

const NOT_YET =
  "Do not trade on these forecasts. Try more tickers, a longer history or features of your own.";
const TOO_LARGE =
  'Rank the tickers by mu; do not use its sizes, which are too large: set "shrinkage": "pooled" in the config.';

const NEXT_STEPS: Readonly<Record<VerdictState, string>> = {
  skill: "Rank the tickers by mu.",
  oversized: TOO_LARGE,
  none: NOT_YET,
  worse: NOT_YET,
  too_few: "Do not trade on these forecasts yet: give a longer history.",
};

/** What to do with the forecasts of an output. @param later on the rows of the verdict. @param ranking of `rankingOf`. */
export function nextStep(
  verdict: Pick<Verdict, "state"> | undefined,
  later: Pick<LaterFigures, "net_low"> | undefined,
  ranking = "mu",
): string {
  const { state = "" } = verdict ?? {};
  const ranks = state === "skill" || state === "oversized";
  const known = Object.hasOwn(NEXT_STEPS, state) ? NEXT_STEPS[state as VerdictState] : "See the report.";
  const step = ranks && ranking !== "mu" ? `Rank the tickers by ${ranking}.` : known;
  if (!ranks || later === undefined || (later.net_low ?? 0) > 0) return step;
  return `${step} Do not trade them every day: a close later, the order does not reliably earn costs of 5 bp a side.`;
}
