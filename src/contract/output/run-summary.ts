import { z } from "zod";
import { mayGrow } from "../schema/open-schema.ts";
import { laterFiguresSchema } from "./metrics-schemas.ts";
import { judgedRowsSchema, verdictStateSchema } from "./verdict.ts";

const maybe = z.number().nullable();

/** How the models of a job relate to tickers: one for each, or one for all (`pooled` for a regressor, `joint` for a network). */
export const FITS = ["per_ticker", "pooled", "joint"] as const;

/** The figures by which runs are compared. The job computes them once, from its verdict, and reports them before it writes its output. */
export const runSummarySchema = z
  .strictObject({
    model: z
      .string()
      .describe("Name of the model, the network or the choice, such as `choice among 7 candidates`."),
    fit: mayGrow(z.enum(FITS)),
    as_of: z.string().describe("The date of the forecasts, YYYY-MM-DD."),
    tickers: z.int().nonnegative().describe("Number of tickers with a forecast."),
    failed: z.int().nonnegative().describe("Number of tickers that the job went on without."),
    verdict: z
      .strictObject({
        state: verdictStateSchema,
        title: z.string(),
        rows: judgedRowsSchema,
        dates: z.int().nonnegative(),
        ic: maybe.describe(
          "The verdict's mean IC; null with fewer than 5 tickers, whose order is measured over time.",
        ),
        ic_low: maybe.describe("Lower end of its 95 % band; null if it has no error, as with too few dates."),
        ic_high: maybe.describe("Upper end of its 95 % band."),
        later: laterFiguresSchema
          .optional()
          .describe("What the order of these rows is worth at the first close after the forecasts."),
        r2: maybe.describe("R² against the zero forecast, with equal weight for each ticker."),
        coverage: maybe.describe("Actual coverage of the intervals; null without intervals."),
        nominal_coverage: maybe.describe("1 - alpha; null without intervals."),
      })
      .nullable()
      .describe("The headline of the output's verdict; null if no ticker has a forecast to judge."),
  })
  .meta({ id: "RunSummary", description: "What the forecasts of a job are worth, in a few figures." });

export type RunSummary = z.infer<typeof runSummarySchema>;
