import type { Operation, SubmittedOperation } from "../contract/config/job-operations.ts";
import type { AuditOptions } from "../contract/config/payload-schemas.ts";

/** What both jobs take. */
export interface JobPayload {
  readonly feature_url: string;
  readonly data_extractor_url: string;
  /**
   * The config, or its JSON text, which is sent unchanged: `1.0` stays `1.0`, which is not the same as `1` to every
   * regressor, and integers beyond 2^53 stay exact.
   */
  readonly config: object | string;
  /** Whether the kernels are pinned, so that every x86-64-v3 processor leaves the same bytes. */
  readonly portable?: boolean | undefined;
}

/** What an audit takes: the payload of the job that it looks at, and how to look. */
export interface AuditPayload extends Omit<JobPayload, "portable">, Readonly<AuditOptions> {}

/** What a replay takes. */
export interface ReplayPayload {
  /** The output of a job. */
  readonly output_url: string;
  /** In place of the recorded inputs. */
  readonly feature_url?: string | undefined;
  readonly data_extractor_url?: string | undefined;
  /** Of an output that does not record it; its text byte for byte as the job was given it. */
  readonly config?: object | string | undefined;
  /** As the output records it where this is missing. */
  readonly portable?: boolean | undefined;
}

/** The payload of each operation. */
export type PayloadOf<K extends SubmittedOperation> = K extends Operation
  ? JobPayload
  : K extends "audit"
    ? AuditPayload
    : ReplayPayload;

/** The JSON text of a payload. @throws SyntaxError where the text of its config is not JSON. */
export function payloadText(payload: PayloadOf<SubmittedOperation> | string): string {
  if (typeof payload === "string") return payload;
  const { config, ...others } = payload;
  if (typeof config !== "string") return JSON.stringify({ ...others, config });
  JSON.parse(config);
  const members = Object.entries(others).flatMap(([key, value]) =>
    value === undefined ? [] : [`${JSON.stringify(key)}:${JSON.stringify(value)}`],
  );
  return `{${[...members, `"config":${config}`].join(",")}}`;
}
