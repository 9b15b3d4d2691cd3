import { z } from "zod";
import * as s from "../schema/open-schema.ts";
import { testMethodSchema } from "./metrics-schemas.ts";

/** Rows on which forecasts are judged; the models did not learn from any of them. */
const JUDGED_ROWS = ["score", "out_of_fold", "calibration", "validation"] as const;

const FINDING_STATES = ["evidence", "none", "worse", "too_few"] as const;

export const VERDICT_STATES = ["skill", "oversized", "none", "worse", "too_few"] as const;

const findingStateSchema = s.mayGrow(
  z.enum(FINDING_STATES).meta({
    id: "FindingState",
    description:
      "`evidence`: better than chance; `none`: no evidence; `worse`: worse than chance; `too_few`: fewer than 30 dates.",
  }),
);
export const judgedRowsSchema = s.mayGrow(z.enum(JUDGED_ROWS).meta({ id: "JudgedRows" }));

export const verdictStateSchema = s.mayGrow(z.enum(VERDICT_STATES).meta({ id: "VerdictState" }));

const findingFields = {
  state: findingStateSchema,
  dates: s.count("Dates that count."),
  t: s.maybe(
    "t of the mean over dates. Null if it does not exist or if all dates agree apart from rounding.",
  ),
  quantile: s.maybe("The t that evidence needs; null if there are too few dates."),
  method: testMethodSchema,
  sentence: s.text("The finding in words."),
};

const orderFindingSchema = s.named("OrderFinding", {
  ...findingFields,
  figure: s.maybe(
    "Mean IC over dates with at least 5 tickers; with fewer than 30 such dates (form time_series), the mean over dates of the return on the side of the forecast, in deviations of each ticker's fit labels.",
  ),
  form: s.mayGrow(z.enum(["cross_section", "time_series"])),
  mean_figure: s.maybe(
    "The same figure for the training mean, the best baseline that has an order; null over time, where it has none.",
  ),
  added_figure: s.maybeAbsent(
    "The same figure for what the forecasts add to the training mean: the residual of a regression on it. Null if they add nothing; absent over time.",
  ),
  added_t: s.maybeAbsent("The t of added_figure; evidence needs it too."),
});

const sizeTestSchema = s.named("SizeTest", {
  r2: s.maybe("1 - SSE / SSE of the baseline, in units of each ticker's root mean square label."),
  clark_west_t: s.maybe(
    "Clark and West (2007), on the forecasts whose order is judged (with shrinkage `pooled` the model's own): whether they contain information that the baseline does not, apart from their noise.",
  ),
  squared_error_t: s.maybe(
    "Whether the squared error of the forecasts as published is smaller than the baseline's; on held-out rows, of the forecasts before shrinkage.",
  ),
});

const sizesFindingSchema = s.named("SizesFinding", {
  ...findingFields,
  figure: s.maybe("`r2` against the best baseline."),
  informative: s.flag(
    "Whether both Clark-West tests pass, so that the model knows something about sizes, whatever its noise costs. `state` is evidence only if the squared error is smaller than those of both baselines, too.",
  ),
  best_baseline: s.mayGrow(z.enum(["zero", "mean"])).describe("The baseline with the smaller squared error."),
  against: z.strictObject({ zero: sizeTestSchema, mean: sizeTestSchema }),
});

const intervalsFindingSchema = s.named("IntervalsFinding", {
  ...findingFields,
  figure: s.maybe("Coverage."),
  asked: s.number("1 - alpha."),
  quiet: s.maybeAbsent("Coverage on the tenth of days with the lowest volatility."),
  wild: s.maybeAbsent("Coverage on the tenth of days with the highest volatility."),
});

const rowsVerdictSchema = s.named("RowsVerdict", {
  rows: judgedRowsSchema,
  order: orderFindingSchema,
  sizes: sizesFindingSchema,
  intervals: intervalsFindingSchema.nullable(),
});

/** How good forecasts are. The job judges them once, and everything that displays an output displays this verdict. */
export const verdictSchema = s.named("Verdict", {
  state: verdictStateSchema.describe(
    "Judged by the order and the sizes on `rows`: the score rows if they have labels on at least 250 dates.",
  ),
  rows: judgedRowsSchema,
  title: s.text(),
  sentence: s.text(),
  later: s.optionalText(
    "What the order is worth if the trades are made at the first close after the forecasts, in a sentence; absent with fewer than 30 dates.",
  ),
  judged: s.list(rowsVerdictSchema, "Each set of rows; the one behind the headline comes first."),
});

export type JudgedRows = (typeof JUDGED_ROWS)[number];
export type FindingState = (typeof FINDING_STATES)[number];
export type VerdictState = (typeof VERDICT_STATES)[number];
export type OrderFinding = z.infer<typeof orderFindingSchema>;
export type SizesFinding = z.infer<typeof sizesFindingSchema>;
export type IntervalsFinding = z.infer<typeof intervalsFindingSchema>;
export type RowsVerdict = z.infer<typeof rowsVerdictSchema>;
export type Verdict = z.infer<typeof verdictSchema>;
