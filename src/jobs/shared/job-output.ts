import { randomUUID } from "node:crypto";
import { executionName, outputName } from "../../blob/names.ts";
import { openOutput } from "../../blob/open-store.ts";
import type { Content } from "../../blob/store.ts";
import type { Choice } from "../../contract/config/candidates.ts";
import type { Operation, SubmittedOperation } from "../../contract/config/job-operations.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import { nameOfChoice } from "../../contract/output/choice.ts";
import type { RunSummary } from "../../contract/output/job-events.ts";
import { laterFigures, verdictFigures } from "../../contract/output/later-close.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import { bandFromT, datesQuantile } from "../../contract/output/test-quantile.ts";
import type { ScoredTicker, ScoreTables } from "./evaluate-forecasts.ts";
import type { JobContext, JobRequest } from "./job.ts";

/**
 * Determines the location of an operation's blob, and checks that it can be written there, before anything is read.
 * @param job whose name the execution has.
 * @throws MucastError output_failed; invalid_request if no output can be written there.
 */
export async function openResult(
  operation: SubmittedOperation,
  job: Operation,
  { id, blobUrl, featureUrl: featureLocation }: Pick<JobRequest, "id" | "blobUrl" | "featureUrl">,
  { policy }: JobContext,
) {
  const name = outputName(operation, id);
  const output = await openOutput({ name, blobUrl, featureLocation }, { policy });
  await output.check();
  return {
    /** @returns the record that names the blob. @throws MucastError output_failed; then no blob is left. */
    async write(content: Content, { report, signal }: JobContext): Promise<ResultRecord> {
      signal.throwIfAborted();
      const url = await output.write(content, signal);
      report({ kind: "progress", stage: "write", done: 1, total: 1 });
      return {
        status: "Succeeded",
        output_url: url,
        output_name: name,
        execution_name: executionName(job, randomUUID().slice(0, 8)),
      };
    },
  };
}

/** The figures by which runs are compared, from the verdict of a job. */
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
