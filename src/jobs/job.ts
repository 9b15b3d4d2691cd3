import type { BlobPolicy } from "../blob/policy.ts";
import type { Report } from "../contract/events.ts";
import type { OpenEngine } from "./job-engine.ts";
import type { Timed } from "./timings.ts";

/** What a job is asked for. */
export interface JobRequest {
  /** A path, a file: URL or an https URL. */
  readonly featureUrl: string;
  readonly dataExtractorUrl: string;
  /** JSON text of the config: its numbers reach the engine as they are written. */
  readonly config: string;
  /** Where the output goes; by default the place of the feature blob. */
  readonly blobUrl?: string | undefined;
  /** 1 to 64 letters, digits, `_` or `-`; names the output. */
  readonly id: string;
}

/** What the machine gives a job; `onTiming` hears of each of its steps once it is over. */
export interface JobContext extends Timed {
  readonly workers: number;
  /** Bytes that all its processes together may hold; by default 80 % of the machine's memory. */
  readonly memoryBytes?: number | undefined;
  readonly policy: BlobPolicy;
  readonly report: Report;
  /** Aborting it ends the job with the signal's reason, no output left. */
  readonly signal: AbortSignal;
  /** Where its engine comes from; a new one by default. */
  readonly openEngine?: OpenEngine | undefined;
}
