import { z } from "zod";
import { choiceCandidateSchema, choiceSchema } from "../output/choice.ts";
import {
  intervalEvidenceSchema,
  metricsSchema,
  modelTableSchema,
  shrinkageSchema,
} from "../output/metrics-schemas.ts";
import { outputBlobSchema } from "../output/output-blob.ts";
import * as s from "../schema/open-schema.ts";

/** Maximum number of tickers in one answer, and the number if none are requested. */
export const FORECAST_LIMITS = { tickers: 50, default: 20 } as const;

const coverageViewSchema = intervalEvidenceSchema
  .omit({ by_year: true, high_volatility: true })
  .meta({ id: "CoverageView" });

const qualitySchema = modelTableSchema.omit({ by_ticker: true }).meta({ id: "ForecastQuality" });

const tickerForecastSchema = s.named("TickerForecast", {
  ticker: s.text(),
  mu: s.number(
    "Next-day log-return at window.as_of. With window.delay, the return that a trade that many closes later earns until the next close.",
  ),
  mu_date: s.optional(outputBlobSchema.shape.mu_dates.unwrap().valueType, "Date of the row behind mu."),
  mu_spread: s.optional(
    outputBlobSchema.shape.mu_spread.unwrap().valueType,
    "For an ensemble of networks: standard deviation (ddof 1) of the members' mu. It shows how much the seed matters, not how far off mu may be.",
  ),
  factor: s.optionalNumber("The factor of shrinkage for mu; absent without shrinkage."),
  mu_model: s.optionalNumber(
    "The model's own forecast, before shrinkage; present if a factor of shrinkage pooled is 0.",
  ),
  interval: s.optional(
    z.strictObject({ lower: z.number().nullable(), upper: z.number().nullable() }),
    "Interval of mu, as log-returns; an end is null if it does not exist. Absent if the job had no intervals.",
  ),
  metrics: metricsSchema.nullable().describe("Metrics over the ticker's score rows."),
  coverage: s.nullable(coverageViewSchema, "Coverage of the ticker's intervals; null if the job had none."),
  shrinkage: s.optional(
    shrinkageSchema,
    "Whether the model's own forecasts of the ticker have the right size.",
  ),
});

const missingSchema = s.named("MissingForecast", "A requested ticker that has no mu, and why.", {
  ticker: s.text(),
  code: s.textOrNull("Code of the ticker's failure or warning; null if the output does not name the ticker."),
  message: s.text(),
});

const choiceViewSchema = s.named("ChoiceView", {
  candidates: s.list(
    choiceCandidateSchema
      .omit({ settings: true, dropped_on: true })
      .extend({ number: s.count() })
      .meta({ id: "CandidateView" }),
    "The largest gain over candidate 0 first.",
  ),
  count: s.count("Number of candidates in the output."),
  measure: choiceSchema.shape.measure,
  honest: choiceSchema.shape.honest,
  best: choiceSchema.shape.best,
  optimism: choiceSchema.shape.optimism,
});

const { window, metrics, verdict } = outputBlobSchema.shape;

/** The forecasts of some tickers of an output, and its metrics over all: small enough for an agent's conversation. */
export const forecastViewSchema = s.titled("Forecast", "Forecast", {
  id: outputBlobSchema.shape.id,
  operation: outputBlobSchema.shape.operation,
  output_name: s.text("Name of the blob with the whole output."),
  window,
  verdict,
  refits: s.optional(
    z.strictObject({
      count: s.positive("How many times models were refitted over the score rows."),
      last: outputBlobSchema.shape.window.shape.as_of.describe("The date of the last of these fits."),
    }),
    "Absent where one set of models made all forecasts.",
  ),
  choice: s.optional(
    choiceViewSchema,
    "With `choice`: what the candidates and choosing among them were worth.",
  ),
  count: s.count("Number of tickers in the output that have a mu."),
  forecasts: s.list(
    tickerForecastSchema,
    "The requested tickers in the requested order; otherwise, the largest |mu| first.",
  ),
  missing: z.array(missingSchema),
  left_out: s.count("Number of requested tickers that did not fit into the answer."),
  metrics: z.strictObject({
    score: qualitySchema,
    out_of_fold: qualitySchema.optional(),
    baselines: z.strictObject({ zero: metricsSchema, mean: metricsSchema }),
    shrinkage: shrinkageSchema.optional().describe("Shrinkage over all tickers together."),
    shrinkage_by_date: s.optional(
      shrinkageSchema,
      "The same with dates as units; its s is the factor of shrinkage pooled.",
    ),
  }),
  intervals: s.nullable(
    metrics.shape.intervals
      .unwrap()
      .pick({ method: true, alpha: true, bound: true })
      .extend({ pooled: coverageViewSchema }),
  ),
});

export type ForecastView = z.infer<typeof forecastViewSchema>;
export type TickerForecast = ForecastView["forecasts"][number];
export type MissingForecast = ForecastView["missing"][number];

const params = { id: s.operationId("Id of the operation, as returned by run_ml_job or run_dl_job.") };

const query = {
  tickers: s.optional(
    z.array(z.string().min(1).max(1_000)).min(1).max(FORECAST_LIMITS.tickers),
    "Return these tickers, in this order.",
  ),
  limit: s.optional(
    queryCount(FORECAST_LIMITS.tickers),
    `Number of tickers to return, the largest |mu| first; ${FORECAST_LIMITS.default} by default if no tickers are named.`,
  ),
};

const ONE_WAY = { path: ["limit"], error: "give tickers or limit, not both" };
const isOneWay = ({ tickers, limit }: { tickers?: unknown; limit?: unknown }) =>
  tickers === undefined || limit === undefined;

export const forecastParams = z.strictObject(params);
export const forecastQuery = z.strictObject(query).refine(isOneWay, ONE_WAY);

export const forecastInput = z.strictObject({ ...params, ...query }).refine(isOneWay, ONE_WAY);

export type ForecastQuery = z.infer<typeof forecastInput>;

/** A number from 1 to `most`, or its decimal digits in a query. */
export function queryCount(most: number) {
  const isDigits = (value: unknown) => typeof value === "string" && /^[0-9]+$/.test(value);
  return z.preprocess((value) => (isDigits(value) ? Number(value) : value), s.integer(1, most));
}
