import type { AuditInputs } from "./audit-inputs.ts";

/** What no audit of two blobs can see, whatever it compares. */
const ALWAYS: readonly string[] = [
  "What the maker of the blobs did before the first snapshot that is compared: a history that was rewritten earlier looks original.",
  "Who is in the list of tickers: a universe chosen by who survived looks like any other.",
  "A feature dated early whose content is honest at either date, such as a lagged return or a weekday.",
  "Levels of averages that reach into the future and are wide: from day to day they hardly move.",
  "What a job does among the rows that it learns from, such as in its folds: every cut comes after them.",
  "Leaks weaker than the strongest honest features: up to a correlation of 0.11 with the next return, and more over few dates and tickers, only an earlier day's blobs tell them apart.",
  "Values that stand for a missing one, such as 0, where what came later decides which are missing.",
  "Volatilities and other features without a direction that are early on a part of the dates alone, and any feature of one ticker that is.",
];

/** What an earlier day's feature blob would show. */
const WITHOUT_FEATURES =
  "Without an earlier day's feature blob: values that were restated or filled in since, scaling by the whole sample that leaves no exact trace, and figures dated before they were published, unless they go with returns beyond what honest features do.";

/** What an earlier day's data-extraction blob would show. */
const WITHOUT_PRICES =
  "Without an earlier day's data-extraction blob: prices that were rewritten since, and tickers that were left out with their history.";

/** What this audit cannot see; what an earlier blob would show comes first. */
export function blindSpots({ previous }: Pick<AuditInputs, "previous">): string[] {
  return [
    ...(previous?.featureUrl === undefined ? [WITHOUT_FEATURES] : []),
    ...(previous?.dataExtractorUrl === undefined ? [WITHOUT_PRICES] : []),
    ...ALWAYS,
  ];
}

/** The verdict as a sentence, with its limits. */
export function verdictSentence(isFound: boolean, { previous }: Pick<AuditInputs, "previous">): string {
  const found = isFound
    ? "The audit found signs of the future, or of a history that was rewritten."
    : "The audit found no sign of the future. That is no proof that there is none.";
  const blobs = [
    ...(previous?.featureUrl === undefined ? ["feature blob"] : []),
    ...(previous?.dataExtractorUrl === undefined ? ["data-extraction blob"] : []),
  ];
  if (blobs.length === 0) return found;
  return `${found} No earlier day's ${blobs.join(" and ")} was compared, so restated history stays invisible.`;
}
