import { z } from "zod";
import { mayGrow } from "../schema/open-schema.ts";
import { jobOperationSchema } from "./operation-schemas.ts";

/** The exit code of the command line by verdict. */
export const REPLAY_EXITS = { identical: 0, differs: 6, cannot_replay: 7 } as const;
export type ReplayVerdict = keyof typeof REPLAY_EXITS;

/** Why a replay differs or cannot be done, and what its reader can do; docs/replay.md has a row for each. */
export const REPLAY_REASONS = {
  inputs: {
    verdict: "differs",
    advice:
      "Give the blobs that the output was made of; where only the changed ones are left, the output cannot be proved.",
  },
  spelling: {
    verdict: "differs",
    advice:
      "Every value is proved. The bytes are not those that the job wrote: a program read the output and wrote it again. Take the job's own file where its bytes matter.",
  },
  versions: {
    verdict: "differs",
    advice:
      "Install the versions that the output records (`mucast setup` of that version of mucast) and replay there; a later version may compute other last digits.",
  },
  instruction_set: {
    verdict: "differs",
    advice:
      "Replay on the kind of processor that `machine` of the output names, or run the job with `portable` (--portable), whose outputs agree on all x86-64-v3 machines.",
  },
  device: {
    verdict: "differs",
    advice: "Networks trained on a GPU do not promise the same bytes; train on the CPU where that matters.",
  },
  engine_crashed: {
    verdict: "differs",
    advice:
      "The recorded job went on without these tickers, such as on a machine short of memory. Run it again, and keep that output.",
  },
  defect: {
    verdict: "differs",
    advice:
      "Inputs, versions and processor are the same, so the output was changed after the job, or mucast has a defect: compare the output with its first copy, and report this verdict where that is the same.",
  },
  another_schema: {
    verdict: "cannot_replay",
    advice: "Give the output of run_ml_job or run_dl_job: a JSON document with the schema mucast.forecast/1.",
  },
  config_missing: {
    verdict: "cannot_replay",
    advice:
      "The output is of a version that did not keep its config, or the config holds the signature of a URL. Give the config that the job was given as `config` (--config).",
  },
  config_differs: {
    verdict: "cannot_replay",
    advice:
      "Give the config byte for byte as the job was given it, or leave `config` (--config) out where the output has its own.",
  },
  inputs_gone: {
    verdict: "cannot_replay",
    advice:
      "Give both blobs as `feature_url` and `data_extractor_url` (--feature-url, --data-extractor-url), or put them beside the output under the recorded names. An output keeps no signature of a URL: where the storage wants one, give the URL with a fresh one.",
  },
  job_refused: {
    verdict: "cannot_replay",
    advice:
      "This version does not run the recorded job on this machine; the problem says why. Replay with the version that `provenance` of the output names.",
  },
} as const satisfies Record<string, { verdict: ReplayVerdict; advice: string }>;

export type ReplayReason = keyof typeof REPLAY_REASONS;

/** The largest sizes of what a verdict lists. */
export const REPLAY_LISTS = { names: 20, facts: 50, lacks: 100 } as const;

const count = z.int().nonnegative();
const digest = z.string().regex(/^[0-9a-f]{64}$/);
const date = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);
const names = z.strictObject({
  count,
  first: z.array(z.string()).max(REPLAY_LISTS.names),
});

const reasonSchema = z
  .strictObject({
    code: mayGrow(z.enum(Object.keys(REPLAY_REASONS) as [ReplayReason, ...ReplayReason[]])),
    message: z.string(),
    advice: z.string(),
  })
  .meta({ id: "ReplayReason" });

const changeSchema = z
  .strictObject({
    values: count.describe(
      "Values of a ticker, date and column that both blobs have, and that are not the same.",
    ),
    tickers: names.describe("With a changed value, or a date or column in one blob only."),
    columns: names.describe("With a changed value, or of one blob only."),
    dates: z
      .strictObject({ count, first: date, last: date })
      .nullable()
      .describe("Dates with a changed value or in one blob only."),
    only_recorded: names.describe("Tickers of the recorded blob alone."),
    only_found: names.describe("Tickers of the blob that was found alone."),
  })
  .meta({
    id: "InputChange",
    description: "How a blob that was found differs from the one that the output was made of.",
  });

const inputSchema = z
  .strictObject({
    url: z.string().describe("As the output records it."),
    sha256: digest,
    found: z
      .strictObject({ url: z.string(), sha256: digest })
      .nullable()
      .describe("The blob of that digest, or else the first one that could be read; null where none could."),
    tried: z
      .array(z.strictObject({ url: z.string(), problem: z.string() }))
      .describe("Places where no blob of that digest is, and why."),
    change: changeSchema.optional().describe("Where both the recorded blob and another one are at hand."),
  })
  .meta({ id: "ReplayInput" });

/** A value as a difference shows it: absent where the document has no such member, long ones cut. */
const shown = z.unknown().optional();

const differenceSchema = z
  .strictObject({
    path: z.string().describe("Such as forecasts.AAA.predicted[3]."),
    recorded: shown,
    replayed: shown,
    absolute: z.number().optional(),
    relative: z
      .number()
      .nullable()
      .optional()
      .describe("Of the recorded number; null where that is 0, or so small that the quotient is none."),
  })
  .meta({ id: "Difference" });

const differencesSchema = z
  .strictObject({
    numbers: count.describe("Numbers that both have, and that are not the same."),
    others: count.describe("Texts, nulls, lengths, and members of one document only."),
    spellings: count
      .optional()
      .describe(
        "Values that are the same and are written in another way, such as 1.0 for 1; absent where there are none.",
      ),
    first: differenceSchema,
    largest: differenceSchema.nullable().describe("By the absolute difference of numbers."),
    largest_relative: differenceSchema.nullable(),
    members: z
      .array(
        z.strictObject({
          name: z.string(),
          numbers: count,
          others: count,
          largest: z.number().nullable().describe("Absolute."),
        }),
      )
      .max(REPLAY_LISTS.facts)
      .describe("Of the document's top level, those that differ."),
  })
  .meta({ id: "Differences" });

const factSchema = z
  .strictObject({ name: z.string(), recorded: z.string().nullable(), replayed: z.string().nullable() })
  .meta({ id: "ChangedFact", description: "Null where one side does not have it." });

export const REPLAY_SCHEMA_NAME = "mucast.replay/1";

/** The verdict of a replay. The same request on the same kind of machine leaves the same bytes but for `id`. */
export const replayBlobSchema = z
  .strictObject({
    schema: z.literal(REPLAY_SCHEMA_NAME),
    id: z.string(),
    verdict: mayGrow(z.enum(Object.keys(REPLAY_EXITS) as [ReplayVerdict, ...ReplayVerdict[]])),
    reason: reasonSchema.optional().describe("The likely reason; absent where the replay is identical."),
    output: z.strictObject({
      url: z.string().describe("Without a secret; of a local file its name."),
      sha256: digest.describe("As stored."),
      operation: jobOperationSchema.nullable(),
      id: z.string().nullable(),
      created_at: z.string().nullable(),
    }),
    compared: z
      .strictObject({
        sha256: digest.describe(
          "Of the output's text without id, created_at, machine and white space between its tokens.",
        ),
        replayed_sha256: digest.describe(
          "Of the new document's; the same where the replay is identical and the output lacks nothing.",
        ),
        numbers: count.describe("How many numbers the output has there."),
      })
      .optional()
      .describe("Where the job was run."),
    differences: differencesSchema.optional(),
    lacks: z
      .array(z.string())
      .max(REPLAY_LISTS.lacks)
      .describe("Members that the output's older version did not write; they were not compared."),
    inputs: z
      .strictObject({ feature: inputSchema, data_extractor: inputSchema })
      .optional()
      .describe("Absent where the output does not name them."),
    versions: z.array(factSchema).max(REPLAY_LISTS.facts).describe("Those that differ."),
    machine: z.array(factSchema).max(REPLAY_LISTS.facts).describe("Facts of the machine that differ."),
    problem: z
      .strictObject({ code: z.string(), detail: z.string() })
      .optional()
      .describe("With which the job ended."),
  })
  .meta({ id: "ReplayBlob", title: "Replay blob" });

export type ReplayBlob = z.infer<typeof replayBlobSchema>;
export type InputChange = z.infer<typeof changeSchema>;
export type ChangedFact = z.infer<typeof factSchema>;
export type ShownDifference = z.infer<typeof differenceSchema>;
