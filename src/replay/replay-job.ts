import { containerJob } from "../blob/names.ts";
import type { ReplayOptions } from "../contract/config/payload-schemas.ts";
import type { ResultRecord } from "../contract/output/result-record.ts";
import { type JobContext, type JobRequest, withMemoryGuard } from "../jobs/shared/job.ts";
import { openResult } from "../jobs/shared/job-output.ts";
import { replayOutput } from "./replay.ts";

/**
 * A replay as an operation of a service: it writes its verdict to `replay_<id>.json`, even if the output differs or cannot be
 * replayed.
 * @param request inputs and config are empty to use those of the output.
 * @throws MucastError as replayOutput; then it writes no blob.
 */
export function runReplayJob(
  { id, blobUrl, featureUrl, dataExtractorUrl, config }: JobRequest,
  options: ReplayOptions,
  context: JobContext,
): Promise<ResultRecord> {
  return withMemoryGuard(context, async (guarded) => {
    const outputUrl = options.output_url;
    const place = { id, blobUrl, featureUrl: featureUrl || outputUrl };
    const blob = await openResult("replay", containerJob("replay", options), place, guarded);
    const request = {
      id,
      outputUrl,
      featureUrl: featureUrl || undefined,
      dataExtractorUrl: dataExtractorUrl || undefined,
      config: config || undefined,
      blobUrl,
    };
    const verdict = await replayOutput(request, quiet(guarded, options));
    return blob.write(JSON.stringify(verdict), guarded);
  });
}

/** The replayed job writes to a scratch folder, which does not end the replay. */
function quiet(context: JobContext, { portable }: ReplayOptions): JobContext {
  const report: JobContext["report"] = (event) => {
    if (event.kind !== "progress" || event.stage !== "write") context.report(event);
  };
  return { ...context, portable, report };
}
