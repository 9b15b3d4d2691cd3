import { randomUUID } from "node:crypto";
import { executionName, outputName } from "../../blob/names.ts";
import { openOutput } from "../../blob/open-output.ts";
import type { Operation } from "../../contract/config/job-operations.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import type { Failure } from "../../contract/problems/failures.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { JobContext, JobRequest } from "./job.ts";
import { type OrderedJson, orderedPieces } from "./ordered-json.ts";

/** The one output blob of a job, not written yet. */
interface JobOutput {
  /**
   * Reports what went wrong with single tickers, then writes the output.
   * @throws MucastError output_failed; the job then leaves no output.
   */
  write(document: OrderedJson, tickers: TickerReports, context: JobContext): Promise<ResultRecord>;
}

/** What a job reports once all tickers are done. */
interface TickerReports {
  readonly warnings: readonly Warning[];
  readonly failures: readonly Failure[];
}

/**
 * Finds where the output goes and checks that it can be written there, before the job reads anything.
 * @throws MucastError output_failed; invalid_request where no output can be written there.
 */
export async function openJobOutput(
  operation: Operation,
  { id, blobUrl, featureUrl: featureLocation }: JobRequest,
  { policy }: JobContext,
): Promise<JobOutput> {
  const name = outputName(operation, id);
  const output = await openOutput({ name, blobUrl, featureLocation }, { policy });
  await output.check();
  return {
    async write(document, { warnings, failures }, { report, signal }) {
      for (const warning of warnings) report({ kind: "warning", warning });
      for (const failure of failures) report({ kind: "failure", failure });
      signal.throwIfAborted();
      const url = await output.write(orderedPieces(document), signal);
      report({ kind: "progress", stage: "write", done: 1, total: 1 });
      return {
        status: "Succeeded",
        output_url: url,
        output_name: name,
        execution_name: executionName(operation, randomUUID().slice(0, 8)),
      };
    },
  };
}
