import type { Operation, SubmittedOperation } from "../contract/config/job-operations.ts";
import type { AuditOptions, WindowMembers } from "../contract/config/payload-schemas.ts";

/** The members that both jobs accept. */
export interface JobPayload extends Readonly<WindowMembers> {
  readonly feature_url: string;
  readonly data_extractor_url: string;
  /**
   * The config, or its JSON text, which is sent unchanged: `1.0` stays `1.0`, which some regressors distinguish from `1`, and
   * integers beyond 2^53 stay exact.
   */
  readonly config: object | string;
  /** Whether the kernels are pinned, so that every x86-64-v3 processor produces the same bytes. */
  readonly portable?: boolean | undefined;
  /** Labels to find and group runs by: at most 16 different ones of 1 to 64 printable ASCII characters. */
  readonly tags?: readonly string[] | undefined;
}

/** The payload of a job, for a preview. `operation` is required only if the config has the sections of both jobs. */
export interface ValidatePayload extends JobPayload {
  readonly operation?: Operation | undefined;
}

/** The payload of an audit: the payload of the job that it checks, and how to check it. */
export interface AuditPayload extends Omit<JobPayload, "portable" | "tags">, Readonly<AuditOptions> {}

/** The payload of a replay. */
export interface ReplayPayload {
  /** The output of a job. */
  readonly output_url: string;
  /** Instead of the recorded inputs. */
  readonly feature_url?: string | undefined;
  readonly data_extractor_url?: string | undefined;
  /** For an output that does not record it; its text, byte for byte as the job received it. */
  readonly config?: object | string | undefined;
  /** By default as the output records it. */
  readonly portable?: boolean | undefined;
  /** Of the replay; its job has those of the output. */
  readonly tags?: readonly string[] | undefined;
}

/** The payload of each operation. */
export type PayloadOf<K extends SubmittedOperation> = K extends Operation
  ? JobPayload
  : K extends "audit"
    ? AuditPayload
    : ReplayPayload;

/** The JSON text of a payload. @throws SyntaxError if the text of its config is not JSON. */
export function payloadText(payload: PayloadOf<SubmittedOperation> | string): string {
  if (typeof payload === "string") return payload;
  const { config, ...others } = payload;
  if (typeof config !== "string") return JSON.stringify({ ...others, config });
  JSON.parse(config);
  const members = JSON.stringify(others).slice(1, -1);
  return `{${members}${members && ","}"config":${config}}`;
}
