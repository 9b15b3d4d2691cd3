import { z } from "zod";
import * as s from "../schema/open-schema.ts";
import { jobOperationSchema } from "./result-record.ts";

/** The exit code of the command line by verdict. */
export const REPLAY_EXITS = { identical: 0, differs: 6, cannot_replay: 7 } as const;
type ReplayVerdict = keyof typeof REPLAY_EXITS;

function differs(advice: string) {
  return { verdict: "differs", advice } as const;
}

function cannotReplay(advice: string) {
  return { verdict: "cannot_replay", advice } as const;
}

/** Why a replay differs or cannot run, and what to do about it; docs/audit.md has a row for each reason. */
export const REPLAY_REASONS = {
  inputs: differs(
    "Provide the blobs that the output was made from. If only changed blobs are left, the output cannot be verified.",
  ),
  spelling: differs(
    "Every value is verified, but a program read the output and wrote it again, so the bytes differ from those that the job wrote. If the bytes matter, use the job's own file.",
  ),
  versions: differs(
    "Install the version and commit of mucast that the output records, run its `mucast setup`, and replay there. Another version may compute other last digits.",
  ),
  instruction_set: differs(
    "Replay on the kind of processor that `machine` in the output names, or run the job with `portable` (--portable): such outputs agree on all x86-64-v3 machines.",
  ),
  device: differs(
    "Networks trained on a GPU do not promise the same bytes. If that matters, train on the CPU.",
  ),
  engine_crashed: differs(
    "The recorded job went on without these tickers, for example because the machine was short of memory. Run the job again and keep the new output.",
  ),
  defect: differs(
    "Inputs, versions and processor are the same, so either the output was changed after the job, or mucast has a defect. Compare the output with its first copy, and if they are equal, report this verdict.",
  ),
  another_schema: cannotReplay(
    "Provide an output of run_ml_job or run_dl_job: a JSON document with the schema mucast.forecast/1.",
  ),
  config_missing: cannotReplay(
    "The output comes from a version that did not keep the config, or the config contains a signed URL. Provide the job's config as `config` (--config).",
  ),
  config_differs: cannotReplay(
    "Provide the config byte for byte as the job received it, or omit `config` (--config) if the output has its own.",
  ),
  inputs_gone: cannotReplay(
    "Provide both blobs as `feature_url` and `data_extractor_url` (--feature-url, --data-extractor-url), or put them beside the output under the recorded names. An output does not keep the signature of a URL: if the storage needs one, provide the URL with a new signature.",
  ),
  job_refused: cannotReplay(
    "This version does not run the recorded job on this machine; the problem says why. Replay with the version that `provenance` in the output names.",
  ),
} satisfies Record<string, { verdict: ReplayVerdict; advice: string }>;

export type ReplayReason = keyof typeof REPLAY_REASONS;

export const REPLAY_LISTS = { names: 20, facts: 50, lacks: 100 } as const;

const names = z.strictObject({
  count: s.count(),
  first: z.array(s.text()).max(REPLAY_LISTS.names),
});

const reasonSchema = s.named("ReplayReason", {
  code: s.mayGrow(z.enum(Object.keys(REPLAY_REASONS) as [ReplayReason, ...ReplayReason[]])),
  message: s.text(),
  advice: s.text(),
});

const changeSchema = s.named(
  "InputChange",
  "How the found blob differs from the one that the output was made from.",
  {
    values: s.count("Values that differ, of a ticker, date and column that both blobs have."),
    tickers: names.describe("Tickers with a changed value, or with a date or column in only one blob."),
    columns: names.describe("Columns with a changed value, or in only one blob."),
    dates: s.nullable(
      z.strictObject({ count: s.count(), first: s.date(), last: s.date() }),
      "Dates with a changed value, or in only one blob.",
    ),
    only_recorded: names.describe("Tickers that only the recorded blob has."),
    only_found: names.describe("Tickers that only the found blob has."),
  },
);

const inputSchema = s.named("ReplayInput", {
  url: s.text("The URL in the output."),
  sha256: s.digest(),
  found: s.nullable(
    z.strictObject({ url: s.text(), sha256: s.digest() }),
    "The blob with that digest, or else the first one that could be read; null if none could be read.",
  ),
  tried: s.list(
    z.strictObject({ url: s.text(), problem: z.string() }),
    "Places without a blob of that digest, and why.",
  ),
  change: s.optional(changeSchema, "Present if both the recorded blob and another one are available."),
});

/** A value as a difference shows it: absent if the document has no such member, and cut if it is long. */
const shown = z.unknown().optional();

const differenceSchema = s.named("Difference", {
  path: s.text("For example, forecasts.AAA.predicted[3]."),
  recorded: shown,
  replayed: shown,
  absolute: s.optionalNumber(),
  relative: s.optional(
    s.nullable(z.number()),
    "Relative to the recorded number; null if that is 0, or too small for a quotient.",
  ),
});

const differencesSchema = s.named("Differences", {
  numbers: s.count("Numbers in both documents that differ."),
  others: s.count("Texts, nulls and lengths that differ, and members of only one document."),
  spellings: s.optional(
    s.count(),
    "Equal values that are written differently, such as 1.0 for 1; absent if there are none.",
  ),
  first: differenceSchema,
  largest: differenceSchema.nullable().describe("The difference with the largest absolute value."),
  largest_relative: differenceSchema.nullable(),
  members: z
    .array(
      z.strictObject({
        name: s.text(),
        numbers: s.count(),
        others: s.count(),
        largest: z.number().nullable().describe("Largest absolute difference."),
      }),
    )
    .max(REPLAY_LISTS.facts)
    .describe("Top-level members that differ."),
});

const factSchema = s.named("ChangedFact", "Null if that side does not have it.", {
  name: s.text(),
  recorded: s.textOrNull(),
  replayed: s.textOrNull(),
});

export const REPLAY_SCHEMA_NAME = "mucast.replay/1";

/** The verdict of a replay. The same request on the same kind of machine gives the same bytes, apart from `id`. */
export const replayBlobSchema = s.titled("ReplayBlob", "Replay blob", {
  schema: z.literal(REPLAY_SCHEMA_NAME),
  id: s.text(),
  verdict: s.mayGrow(z.enum(Object.keys(REPLAY_EXITS) as [ReplayVerdict, ...ReplayVerdict[]])),
  reason: reasonSchema.optional().describe("The likely reason; absent if the replay is identical."),
  output: z.strictObject({
    url: s.text("Without secrets; for a local file, its name."),
    sha256: s.digest("SHA-256 of the output as stored."),
    operation: jobOperationSchema.nullable(),
    id: s.textOrNull(),
    created_at: s.textOrNull(),
  }),
  compared: s.optional(
    z.strictObject({
      sha256: s.digest(
        "SHA-256 of the output's text without id, created_at, machine, and white space between tokens.",
      ),
      replayed_sha256: s.digest(
        "The same for the new document; equal if the replay is identical and the output lacks nothing.",
      ),
      numbers: s.count("Number of numbers in that text."),
    }),
    "Present if the job ran.",
  ),
  differences: differencesSchema.optional(),
  lacks: z
    .array(s.text())
    .max(REPLAY_LISTS.lacks)
    .describe("Members that the older version of the output did not write; they were not compared."),
  inputs: s.optional(
    z.strictObject({ feature: inputSchema, data_extractor: inputSchema }),
    "Absent if the output does not name them.",
  ),
  versions: z.array(factSchema).max(REPLAY_LISTS.facts).describe("Versions that differ."),
  machine: z.array(factSchema).max(REPLAY_LISTS.facts).describe("Facts about the machine that differ."),
  problem: s.optional(
    z.strictObject({ code: s.text(), detail: z.string() }),
    "The problem that ended the job.",
  ),
});

export type ReplayBlob = z.infer<typeof replayBlobSchema>;
export type InputChange = z.infer<typeof changeSchema>;
export type ChangedFact = z.infer<typeof factSchema>;
export type ReportedDifference = z.infer<typeof differenceSchema>;
