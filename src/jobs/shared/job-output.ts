import { randomUUID } from "node:crypto";
import { executionName, outputName } from "../../blob/names.ts";
import { openOutput } from "../../blob/open-store.ts";
import type { Content } from "../../blob/store.ts";
import type { Operation, SubmittedOperation } from "../../contract/config/job-operations.ts";
import type { RunSummary } from "../../contract/output/job-events.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import { type Warning, warningEntry } from "../../contract/problems/warnings.ts";
import type { JobContext, JobRequest } from "./job.ts";
import { joinedPieces, type OrderedJson, orderedPieces } from "./ordered-json.ts";

interface JobOutput {
  /** Reports errors of single tickers and the summary, then writes the output. @throws MucastError output_failed; the job then leaves no output. */
  write(document: OrderedJson, reports: FinalReports, context: JobContext): Promise<ResultRecord>;
}

interface ResultBlob {
  /** @returns the record that names it. @throws MucastError output_failed; then no blob is left. */
  write(content: Content, context: JobContext): Promise<ResultRecord>;
}

interface FinalReports {
  readonly warnings: readonly Warning[];
  readonly failures: readonly Failure[];
  readonly summary: RunSummary;
}

/**
 * Determines the location of the output and checks that it can be written there, before the job reads anything.
 * @throws MucastError output_failed; invalid_request if no output can be written there.
 */
export async function openJobOutput(
  operation: Operation,
  request: JobRequest,
  context: JobContext,
): Promise<JobOutput> {
  const blob = await openResult(operation, operation, request, context);
  return {
    write(document, { warnings, failures, summary }, context) {
      for (const warning of warnings)
        if (!warningEntry(warning.code)?.isNote) context.report({ kind: "warning", warning });
      for (const failure of failures) context.report({ kind: "failure", failure });
      context.report({ kind: "summary", summary });
      return blob.write(joinedPieces(orderedPieces(document)), context);
    },
  };
}

/**
 * Determines the location of an operation's blob, and checks that it can be written there.
 * @param job whose name the execution has.
 * @throws MucastError like openJobOutput.
 */
export async function openResult(
  operation: SubmittedOperation,
  job: Operation,
  { id, blobUrl, featureUrl: featureLocation }: Pick<JobRequest, "id" | "blobUrl" | "featureUrl">,
  { policy }: JobContext,
): Promise<ResultBlob> {
  const name = outputName(operation, id);
  const output = await openOutput({ name, blobUrl, featureLocation }, { policy });
  await output.check();
  return {
    async write(content, { report, signal }) {
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
