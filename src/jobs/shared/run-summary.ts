import type { Choice } from "../../contract/config/choice/candidates.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import { nameOfChoice } from "../../contract/output/choice.ts";
import type { RunSummary } from "../../contract/output/job-events.ts";
import { laterFigures, verdictFigures } from "../../contract/output/later-close.ts";
import { bandFromT, datesQuantile } from "../../contract/output/test-quantile.ts";
import type { ScoredTicker, ScoreTables } from "./evaluate-forecasts.ts";

export function runSummary(facts: {
  readonly model: string;
  readonly choice?: Pick<Choice<unknown>, "rule" | "candidates"> | undefined;
  readonly fit: RunSummary["fit"];
  readonly asOf: Day;
  readonly tickers: readonly ScoredTicker[];
  readonly failures: readonly unknown[];
  readonly tables: Pick<ScoreTables, "verdict"> & Partial<Pick<ScoreTables, "score" | "outOfFold">>;
}): RunSummary {
  const { model, choice, fit, asOf, tickers, failures, tables } = facts;
  return {
    model: choice === undefined ? model : nameOfChoice(choice.candidates.length),
    fit,
    as_of: formatDay(asOf),
    tickers: tickers.filter(({ mu }) => mu !== undefined).length,
    failed: failures.length,
    verdict: headlineOf(tables),
  };
}

function headlineOf({
  verdict,
  score,
  outOfFold,
}: Parameters<typeof runSummary>[0]["tables"]): RunSummary["verdict"] {
  const judged = verdict?.judged[0];
  if (verdict === undefined || judged === undefined) return null;
  const { order, sizes, intervals, rows } = judged;
  const { state, title } = verdict;
  const ic = order.form === "cross_section" ? order.figure : null;
  const band = bandFromT(ic, order.t, datesQuantile(order.method, order.dates, 0.975));
  // Of the score rows if the rows have no table, as in the verdict's sentence.
  const later = laterFigures((rows === "out_of_fold" ? outOfFold : score)?.by_delay);
  return {
    ...{ state, title, rows },
    dates: sizes.dates,
    ...verdictFigures(judged),
    ...{ ic_low: band?.low ?? null, ic_high: band?.high ?? null },
    ...(later === undefined ? {} : { later }),
    coverage: intervals?.figure ?? null,
    nominal_coverage: intervals?.asked ?? null,
  };
}
