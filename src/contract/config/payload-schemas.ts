import { z } from "zod";
import { parseDay } from "../market/dates.ts";
import type { RequestedWindow } from "../market/ticker-series.ts";
import * as s from "../schema/open-schema.ts";
import { JOB_OPERATIONS, type SubmittedOperation } from "./job-operations.ts";
import { TAG_LIMITS, TAG_PATTERN } from "./limits.ts";

/** In their order. */
export const AUDIT_CHECKS = ["truncation", "restatement", "foresight", "skill"] as const;
export type AuditCheckName = (typeof AUDIT_CHECKS)[number];

const bound = (what: string) =>
  s.optional(z.iso.date("must be YYYY-MM-DD"), `${what}, if the data-extraction blob does not say it.`);

/** The window of a job, for a data-extraction blob that does not have one, such as a Parquet table. */
export const requestedWindowSchema = z.strictObject({
  start: bound("First date of the window"),
  end: bound("Last date of the window"),
  learning_end: bound("Last date whose labels may be learned"),
});
export type WindowMembers = z.infer<typeof requestedWindowSchema>;

export function requestedWindow({ start, end, learning_end }: WindowMembers): RequestedWindow | undefined {
  const window = {
    ...(start && { start: parseDay(start)! }),
    ...(end && { end: parseDay(end)! }),
    ...(learning_end && { learningEnd: parseDay(learning_end)! }),
  };
  return Object.keys(window).length === 0 ? undefined : window;
}

/** A check for a list of zod: each entry that equals an earlier one is a fault. */
export function distinctEntries({ value, issues }: z.core.ParsePayload<string[]>): void {
  for (const [i, entry] of value.entries()) {
    if (value.indexOf(entry) < i)
      issues.push({ code: "custom", path: [i], message: "must not appear twice", input: entry });
  }
}

const TAG_RULE = `must be 1 to ${TAG_LIMITS.characters} printable ASCII characters without a space at either end`;
export const tagSchema = z.string().regex(new RegExp(`^${TAG_PATTERN}$`), TAG_RULE);

export const tagsSchema = z
  .array(tagSchema)
  .max(TAG_LIMITS.tags)
  .check(distinctEntries)
  .meta({ uniqueItems: true })
  .describe(
    `Labels to find and group runs by: at most ${TAG_LIMITS.tags} different ones of 1 to ${TAG_LIMITS.characters} printable ASCII characters. They change no number.`,
  );

const url = z.string().min(1);
const flag = z.boolean();

const inputMembers = {
  feature_url: url.describe("The feature blob: {blob_url}/data/feature_engine_<id>.json, or .parquet"),
  data_extractor_url: url.describe(
    "The data-extraction blob: {blob_url}/data/data_extractor_<id>.json, or .parquet",
  ),
};

const anyConfig = z.looseObject({}).meta({ id: "JobConfig" });

const tags = tagsSchema.optional();

/** What the jobs accept besides the three inputs. All of it is our addition, and optional. */
const jobOptionsSchema = z.strictObject({
  ...requestedWindowSchema.shape,
  portable: s.optional(
    flag,
    "Pins the kernels of the engine, so that every x86-64-v3 processor gives the same bytes. Slower.",
  ),
  tags,
});

/** The payload of both jobs. In a job container the three fields are FEATURE_URL, DATA_EXTRACTOR_URL and CONFIG. */
export const payloadSchema = s.titled("Payload", "Payload of run_ml_job and run_dl_job", {
  ...inputMembers,
  config: anyConfig.describe("Config of run_ml_job or run_dl_job; at most 32 KiB as JSON text."),
  ...jobOptionsSchema.shape,
});

const operation = s.optional(
  z.enum(JOB_OPERATIONS).meta({ id: "JobName" }),
  "The job; required only if the config has the sections of both jobs.",
);

/** The payload of either job, for a preview of what it would do. */
export const validatePayloadSchema = payloadSchema
  .extend({ operation })
  .meta({ id: "ValidatePayload", title: "Payload of validate_job" });

/** The largest options of an audit. Each cut costs a job; with 999 permutations, the smallest p-value is 0.001. */
export const AUDIT_LIMITS = { truncations: 100, permutations: 999, accepted: 200, featureName: 200 } as const;
export const AUDIT_DEFAULTS = { truncations: 5, permutations: 19 } as const;

/** What an audit accepts besides a job's payload; `mucast audit` has a flag for each. */
export const auditOptionsSchema = z.strictObject({
  ...requestedWindowSchema.shape,
  operation,
  checks: s.optional(z.array(z.enum(AUDIT_CHECKS)).min(1), "Checks to run; all checks by default."),
  quick: s.optional(flag, "Run ridge, or the network for 2 epochs, instead of the config's own model."),
  portable: s.optional(
    flag,
    "Pins the kernels of the jobs that the audit runs, as `portable` does for a job. Slower.",
  ),
  truncations: s.optional(
    s.integer(1, AUDIT_LIMITS.truncations),
    "Number of dates after which both blobs are cut; 5 by default. Each one runs a job.",
  ),
  permutations: s.optional(
    s.integer(1, AUDIT_LIMITS.permutations),
    "Number of label permutations; 19 by default.",
  ),
  accept: s.optional(
    z.array(z.string().min(1).max(AUDIT_LIMITS.featureName)).max(AUDIT_LIMITS.accepted),
    "Features whose high correlation is legitimate, or `implausible_job`.",
  ),
  previous_feature_url: s.optional(url, "The feature blob of an earlier day."),
  previous_data_extractor_url: s.optional(url, "The data-extraction blob of an earlier day."),
  tags,
});
export type AuditOptions = z.infer<typeof auditOptionsSchema>;

export const auditPayloadSchema = s.titled("AuditPayload", "Payload of audit", {
  ...inputMembers,
  config: anyConfig.describe("The job's config; at most 32 KiB as JSON text."),
  ...auditOptionsSchema.shape,
});

const replayOptionsSchema = z.strictObject({
  output_url: url.describe("The output of a job: {blob_url}/data/ml_engine_<id>.json or nn_engine_<id>.json"),
  portable: s.optional(flag, "Whether the kernels are pinned; by default as recorded in the output."),
  tags,
});
export type ReplayOptions = z.infer<typeof replayOptionsSchema>;

export const replayPayloadSchema = s.titled("ReplayPayload", "Payload of replay", {
  ...replayOptionsSchema.shape,
  feature_url: s.optional(url, "The feature blob, if it is no longer at its recorded location."),
  data_extractor_url: s.optional(
    url,
    "The data-extraction blob, if it is no longer at its recorded location.",
  ),
  config: s.optional(
    anyConfig,
    "The job's config, byte for byte, for an output of an older version that did not record it.",
  ),
});

export const PAYLOAD_SCHEMAS = {
  run_ml_job: payloadSchema,
  run_dl_job: payloadSchema,
  audit: auditPayloadSchema,
  replay: replayPayloadSchema,
  validate_job: validatePayloadSchema,
} as const satisfies Record<SubmittedOperation | "validate_job", z.ZodObject>;

export const OPTION_SCHEMAS = {
  run_ml_job: jobOptionsSchema,
  run_dl_job: jobOptionsSchema,
  audit: auditOptionsSchema,
  replay: replayOptionsSchema,
  validate_job: jobOptionsSchema.extend({ operation }),
} as const satisfies Record<SubmittedOperation | "validate_job", z.ZodObject>;

export type PayloadUse = keyof typeof PAYLOAD_SCHEMAS;

export type PayloadOptions = Readonly<Record<string, unknown>>;

/** Members of payloads that name a blob, and the kind of blob. */
export const URL_MEMBERS = {
  feature_url: "input",
  data_extractor_url: "input",
  previous_feature_url: "input",
  previous_data_extractor_url: "input",
  output_url: "output",
} as const satisfies Record<string, "input" | "output">;
export type UrlMember = keyof typeof URL_MEMBERS;

/** The ones among them that are options. */
export const OPTION_URL_MEMBERS = (Object.keys(URL_MEMBERS) as UrlMember[]).filter((name) =>
  Object.values(OPTION_SCHEMAS).some(({ shape }) => Object.hasOwn(shape, name)),
);
