import type { Choice } from "../../contract/config/choice/candidates.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import { nameOfChoice } from "../../contract/output/choice.ts";
import type { RunSummary } from "../../contract/output/job-events.ts";
import { laterFigures, verdictFigures } from "../../contract/output/later-close.ts";
import { bandFromT, datesQuantile } from "../../contract/output/test-quantile.ts";
import type { OrderFinding } from "../../contract/output/verdict.ts";
import { muRow } from "../../panel/as-of.ts";
import type { ScoredTicker, ScoreTables } from "./evaluate-forecasts.ts";

interface SummaryParts {
  readonly model: string;
  /** Named in place of the model. */
  readonly choice?: Pick<Choice<unknown>, "rule" | "candidates"> | undefined;
  readonly fit: RunSummary["fit"];
  readonly asOf: Day;
  readonly tickers: readonly ScoredTicker[];
  readonly failures: readonly unknown[];
  readonly tables: Pick<ScoreTables, "verdict"> & Partial<Pick<ScoreTables, "score" | "outOfFold">>;
}

/** The figures by which runs are compared, from the verdict of a job. */
export function runSummary({
  model,
  choice,
  fit,
  asOf,
  tickers,
  failures,
  tables,
}: SummaryParts): RunSummary {
  const forecast = tickers.filter(({ dates }) => muRow(dates, asOf).row !== undefined);
  return {
    model: choice === undefined ? model : nameOfChoice(choice.candidates.length),
    fit,
    as_of: formatDay(asOf),
    tickers: forecast.length,
    failed: failures.length,
    verdict: headlineOf(tables),
  };
}

function headlineOf({ verdict, score, outOfFold }: SummaryParts["tables"]): RunSummary["verdict"] {
  const judged = verdict?.judged[0];
  if (verdict === undefined || judged === undefined) return null;
  const { order, sizes, intervals, rows } = judged;
  const { state, title } = verdict;
  // Of the score rows if the rows have no table, as in the verdict's sentence.
  const later = laterFigures((rows === "out_of_fold" ? outOfFold : score)?.by_delay);
  return {
    ...{ state, title, rows },
    dates: sizes.dates,
    ...verdictFigures(judged),
    ...bandOf(order),
    ...(later === undefined ? {} : { later }),
    coverage: intervals?.figure ?? null,
    nominal_coverage: intervals?.asked ?? null,
  };
}

/** The 95 % band of the mean IC, from its t. */
function bandOf({ form, figure, t, dates, method }: OrderFinding): {
  ic_low: number | null;
  ic_high: number | null;
} {
  const ic = form === "cross_section" ? figure : null;
  const band = bandFromT(ic, t, datesQuantile(method, dates, 0.975));
  return { ic_low: band?.low ?? null, ic_high: band?.high ?? null };
}
