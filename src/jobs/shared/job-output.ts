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

interface ResultBlob {
  /** @returns the record that names it. @throws MucastError output_failed; then no blob is left. */
  write(content: Content, context: JobContext): Promise<ResultRecord>;
}

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

export function reportFindings(
  found: {
    readonly warnings: readonly Warning[];
    readonly failures: readonly Failure[];
    readonly summary: RunSummary;
  },
  { report }: JobContext,
): void {
  for (const warning of found.warnings)
    if (!warningEntry(warning.code)?.isNote) report({ kind: "warning", warning });
  for (const failure of found.failures) report({ kind: "failure", failure });
  report({ kind: "summary", summary: found.summary });
}
