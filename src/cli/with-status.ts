import { dirname } from "node:path";
import { resolveOutput } from "../blob/folder/output-folder.ts";
import { openStore } from "../blob/open-store.ts";
import type { BlobStore } from "../blob/store.ts";
import { shownProblem } from "../contract/errors/shown-problem.ts";
import type { ResultRecord } from "../contract/output/result-record.ts";
import { StatusWriter } from "../executors/status-writer.ts";
import type { JobContext, JobRequest } from "../jobs/shared/job.ts";

type Run = (request: JobRequest, context: JobContext) => Promise<ResultRecord>;

/**
 * Runs a job that also tells of itself in `status/<id>.<attempt>.json`, beside the `data/` of its output, as a service
 * asks of a job container. One that is stopped by a signal leaves no end there: whoever stopped it knows why.
 * @param log hears of a status that could not be written; the job goes on.
 */
export async function withStatus(
  run: Run,
  request: JobRequest,
  context: JobContext,
  attempt: number,
  log: (line: string) => void,
): Promise<ResultRecord> {
  const store = await storeOf(request, context, log);
  if (store === undefined) return run(request, context);
  const status = new StatusWriter({ ...request, store, attempt, log });
  const { report, signal } = context;
  const told: JobContext = {
    ...context,
    onTiming: status.onTiming,
    report: (event) => {
      status.report(event);
      report(event);
    },
  };
  try {
    const record = await run(request, told);
    await status.writeEnd({ record });
    return record;
  } catch (error) {
    if (signal.aborted) status.stop();
    else
      await status.writeEnd({
        problem: shownProblem(error, ({ id, what, text }) => log(`${what} ${id}: ${text}`)),
      });
    throw error;
  } finally {
    await store.close();
  }
}

async function storeOf(
  { blobUrl, featureUrl }: JobRequest,
  { policy }: JobContext,
  log: (line: string) => void,
): Promise<BlobStore | undefined> {
  try {
    return await openStore(blobUrl || dirname(resolveOutput({ featureLocation: featureUrl })), { policy });
  } catch (error) {
    log(`no status can be written: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}
