import type { AuditInputs } from "./audit-inputs.ts";

/** What no audit of two blobs can see, whatever it compares. */
const ALWAYS: readonly string[] = [
  "Changes made before the earlier blobs were written: a history that was rewritten before then looks original.",
  "Survivorship bias: a list of tickers chosen because they survived looks like any other.",
  "A feature that is dated too early but would be honest on both dates, such as a lagged return or a weekday.",
  "Levels of wide averages that reach into the future: they hardly change from day to day.",
  "Look-ahead within the rows that a job learns from, such as in its folds: every cut comes after them.",
  "Leaks no stronger than the strongest honest features: up to a correlation of 0.11 with the next return (more with few dates or tickers), only an earlier day's blobs reveal a leak.",
  "Placeholders for missing values, such as 0, if later events determine which values are missing.",
  "Volatilities and other features without a direction that are early on only part of the dates, and any feature of a single ticker that is early on part of them.",
];

/** What an earlier day's feature blob would show. */
const WITHOUT_FEATURES =
  "Without an earlier day's feature blob: values that were restated or filled in later, whole-sample scaling that leaves no exact trace, and figures dated before their publication, unless they correlate with returns more than honest features do.";

/** What an earlier day's data-extraction blob would show. */
const WITHOUT_PRICES =
  "Without an earlier day's data-extraction blob: prices that were rewritten later, and tickers that were removed with their history.";

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
    ? "The audit found signs of look-ahead or of a rewritten history."
    : "The audit found no look-ahead. This does not prove that there is none.";
  const blobs = [
    ...(previous?.featureUrl === undefined ? ["feature blob"] : []),
    ...(previous?.dataExtractorUrl === undefined ? ["data-extraction blob"] : []),
  ];
  if (blobs.length === 0) return found;
  return `${found} No earlier day's ${blobs.join(" and ")} was compared, so the audit cannot see restated history.`;
}
