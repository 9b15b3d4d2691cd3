import type { JobPreview } from "../../contract/api/job-preview.ts";
import { OPTION_SCHEMAS, requestedWindow } from "../../contract/config/payload-schemas.ts";
import { boundedCopy } from "../../contract/json/bounded-json.ts";
import { warningEntry } from "../../contract/problems/warnings.ts";
import { CappedList, SIZES } from "../../contract/schema/answer-limits.ts";
import { storageOf } from "../../executors/job-storage.ts";
import { validateJob } from "../../jobs/validate-job.ts";
import type { ValidateOrder } from "./request-processes.ts";

/** Previews the job of a payload, in an answer of limited size. */
export async function validateRequest({ storage, inputs }: ValidateOrder): Promise<JobPreview> {
  const { featureUrl, dataExtractorUrl, config } = inputs;
  const { blobUrl, policy } = storageOf(storage, inputs);
  const { operation, ...options } = OPTION_SCHEMAS.validate_job.parse(inputs.options);
  const window = requestedWindow(options);
  // The service ends the process if its caller leaves.
  const { signal } = new AbortController();
  const { error, ...preview } = await validateJob(
    { featureUrl, dataExtractorUrl, config, blobUrl, window, id: "validate" },
    { workers: 1, policy, report: () => undefined, signal },
    operation,
  );
  if (error !== undefined) throw error;
  const failures = new CappedList(preview.failures);
  const warnings = new CappedList(preview.warnings.filter(({ code }) => !warningEntry(code)?.isNote));
  return {
    ...preview,
    tickers: boundedCopy(preview.tickers, { bytes: SIZES.previewed, text: SIZES.text })!,
    ticker_count: preview.tickers.length,
    failures: failures.entries,
    failure_counts: failures.counts,
    warnings: warnings.entries,
    warning_counts: warnings.counts,
  };
}
