import { randomUUID } from "node:crypto";
import { executionName, outputName } from "../../blob/names.ts";
import { openOutput } from "../../blob/open-output.ts";
import type { Operation } from "../../contract/api/operation-view.ts";
import type { Warning } from "../../contract/errors/warnings.ts";
import type { Failure } from "../../contract/output/output-blob.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import type { JobContext, JobRequest } from "./job.ts";
import { type OrderedJson, orderedPieces } from "./ordered-json.ts";

/** Where a job leaves its one output. */
export interface JobPlace {
  /**
   * Tells what went wrong with single tickers, then writes the output.
   * @throws MucastError output_failed; then no output is left.
   */
  leave(document: OrderedJson, news: TickerNews, context: JobContext): Promise<ResultRecord>;
}

/** What is told once all tickers are done. */
export interface TickerNews {
  readonly warnings: readonly Warning[];
  readonly failures: readonly Failure[];
}

/** Finds the output's place and checks that it can be written, before anything is read. @throws MucastError. */
export async function openPlace(
  operation: Operation,
  { id, blobUrl, featureUrl: featureLocation }: JobRequest,
  { policy }: JobContext,
): Promise<JobPlace> {
  const name = outputName(operation, id);
  const output = await openOutput({ name, blobUrl, featureLocation }, { policy });
  await output.check();
  return {
    async leave(document, { warnings, failures }, { report, signal }) {
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
