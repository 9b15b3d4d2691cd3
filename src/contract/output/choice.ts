import { z } from "zod";
import { CHOICE_MEASURES, CHOICE_RULES } from "../config/choice-config.ts";
import * as s from "../schema/open-schema.ts";
import { laterFiguresSchema, type TestMethod, testMethodSchema } from "./metrics-schemas.ts";

const members = s.list(s.count(), "Numbers of candidates, ascending.");

/** The name of the forecasts of a choice, in place of a model's. @param count of candidates. */
export function nameOfChoice(count: number): string {
  return `choice among ${count} candidates`;
}

/** How this version estimates the errors of a choice over 60 dates or more. */
export const CHOICE_METHOD = "ewc_8" satisfies TestMethod;

/** What forecasts are worth beside those of candidate 0. */
const gainFields = {
  r2: s.maybe(
    "1 - SSE / SSE of the zero forecast on the published out-of-fold rows, each in its ticker's unit.",
  ),
  ic: s.maybeAbsent(
    "Mean IC over label dates with at least 5 tickers on the published out-of-fold rows. Null without such a date; absent in older outputs.",
  ),
  gain: s.maybe(
    "Mean over label dates of candidate 0's squared error less this one's, in the ticker's unit, on rows that both forecast; with measure ic, of this one's IC less candidate 0's. Positive is better. Null with fewer than 30 dates.",
  ),
  gain_t: s.maybe("Its t over dates; `method` names the error."),
};

export const choiceCandidateSchema = s.named("ChoiceCandidate", {
  label: s.text(),
  ...gainFields,
  tickers: s.count("Tickers that the candidate could fit."),
  member: s.flag("Whether it is a member for the score rows of all tickers."),
  dropped_on: s
    .date()
    .optional()
    .describe("Outputs of 0.2.0 with racing: the date from which it has no fits."),
  settings: z.looseObject({}).describe("Its resolved settings, with every default filled in."),
});

export const choiceSchema = s.named(
  "OutputChoice",
  "With `choice`: the candidates, and what choosing was worth.",
  {
    rule: s.mayGrow(z.enum(CHOICE_RULES)),
    over: s.optionalText("Outputs of 0.2.0: whether members were chosen per ticker."),
    measure: s.optional(
      s.mayGrow(z.enum(CHOICE_MEASURES)),
      "What compares candidates; absent in older outputs, which used squared_error.",
    ),
    method: testMethodSchema.describe(
      "How the errors of gains over 60 dates or more are estimated: `ewc_8`, as in `verdict`, and by Newey and West with lag 5 with fewer dates; absent in outputs of 0.2.0, which used the latter for all.",
    ),
    seed: s.count(),
    warm_up: s.count().optional().describe("run_ml_job: further folds that only served the choice."),
    racing: z.boolean().optional().describe("Outputs of 0.2.0: candidates that fell behind were dropped."),
    candidates: s.list(choiceCandidateSchema, "The first is the config itself."),
    members: members.describe("Members for the score rows of all tickers, and so for mu."),
    by_ticker: s.optional(
      z.record(s.text(), members),
      "Outputs of 0.2.0: members for the score rows by ticker, if these were chosen per ticker.",
    ),
    changes: s.list(
      z.strictObject({ date: s.date(), members }),
      "The members for folds that begin at or after the date, by losses known at its close.",
    ),
    honest: z.strictObject(gainFields).describe("The published out-of-fold forecasts themselves."),
    best: s.count("The candidate with the smallest mean loss over all out-of-fold rows."),
    optimism: s.maybe("The r2 of `best` minus the r2 of `honest`; with measure ic, their ic."),
    losses: z
      .strictObject({
        reference: s.count("The candidate that the others are compared with."),
        dates: s.list(s.date(), "Label dates, ascending."),
        excess: s.list(
          z.array(s.maybe()),
          "By candidate and date: the mean over tickers of its squared error less the reference's, in the ticker's unit; with measure ic, the reference's IC less its own. Null without common rows.",
        ),
        gains: s.optionalList(
          s.maybe(),
          "By date: the mean over tickers of candidate 0's squared error minus the squared error of the published forecasts, in the ticker's unit; with measure ic, the IC of the published forecasts minus candidate 0's; the mean over dates is `honest.gain`. Null without a published row that candidate 0 forecasts.",
        ),
      })
      .describe("What the choice was made from."),
  },
);

export type OutputChoice = z.infer<typeof choiceSchema>;

export const CHOSEN_ROWS = ["out_of_fold", "score"] as const;
export type ChosenRows = (typeof CHOSEN_ROWS)[number];

/** What `mucast choose --json` prints: members as in an output's `choice`, with outputs as candidates. */
export const chosenOutputsSchema = z.strictObject({
  rows: z.enum(CHOSEN_ROWS),
  ...choiceSchema.pick({
    rule: true,
    measure: true,
    method: true,
    members: true,
    changes: true,
    honest: true,
    best: true,
    optimism: true,
    losses: true,
  }).shape,
  candidates: z.array(
    choiceCandidateSchema.omit({ settings: true, dropped_on: true }).extend({
      output: s.text("The path, or the URL without a secret."),
      later: s.optional(
        laterFiguresSchema,
        "What the output's own order is worth on these rows at the first close after its forecasts.",
      ),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  ),
});

export type ChosenOutputs = z.infer<typeof chosenOutputsSchema>;

export const MAX_CANDIDATES_SHOWN = 20;

/** Candidates with their numbers, the largest gain over candidate 0 first; those without a gain come last, by number. */
export function rankedCandidates<T extends { readonly gain: number | null }>(
  candidates: readonly T[],
): (T & { readonly number: number })[] {
  return candidates
    .map((candidate, number) => ({ ...candidate, number }))
    .sort((a, b) => {
      const isNumber = Number(b.gain !== null) - Number(a.gain !== null);
      return isNumber || (b.gain ?? 0) - (a.gain ?? 0) || a.number - b.number;
    });
}
