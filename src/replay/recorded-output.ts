import { open } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { openBlob } from "../blob/open-blob.ts";
import { JOB_OPERATIONS } from "../contract/config/job-operations.ts";
import { tagsSchema } from "../contract/config/payload-schemas.ts";
import { workFolderError } from "../contract/errors/system-error.ts";
import { OUTPUT_SCHEMA_NAME } from "../contract/output/output-blob.ts";
import { isCrash } from "../contract/problems/problem.ts";
import { fileSource, readMembers } from "../outputs/read-members.ts";
import type { DocumentFile } from "./compare-documents.ts";
import { counted, type Reading } from "./find-inputs.ts";

export interface RecordedOutput extends DocumentFile {
  readonly sha256: string;
  /** Members of any shape. */
  readonly members: Readonly<Record<"schema" | "id" | "created_at", unknown>>;
  /** Undefined if the document is not an output of a job, or does not name its inputs. */
  readonly facts: RecordedFacts | undefined;
}

/** Maximum characters of a URL or a name, far more than those that a job reads. */
const MAX_NAME_LENGTH = 4_096;
const name = z.string().min(1).max(MAX_NAME_LENGTH);
const digest = z.string().regex(/^[0-9a-f]{64}$/);
const day = z.iso.date().nullable();

/** What a replay uses of an output; other versions may record less or more. What has another shape counts as absent. */
const factsSchema = z.looseObject({
  schema: z.literal(OUTPUT_SCHEMA_NAME),
  operation: z.enum(JOB_OPERATIONS),
  provenance: z.looseObject({
    feature_url: name,
    data_extractor_url: name,
    feature_sha256: digest,
    data_extractor_sha256: digest,
    requested_window: z.looseObject({ start: day, end: day, learning_end: day }).optional(),
    config_sha256: digest,
    versions: z.record(z.string(), z.string()),
    commit: z.string().optional(),
    device: z.string().max(MAX_NAME_LENGTH),
    config: z.string().nullable().optional(),
    lock_sha256: z.string().nullable().optional(),
    kernel_level: z.string().nullable().optional(),
  }),
  /** Of any shape. */
  machine: z.unknown(),
  warnings: z.array(z.looseObject({ code: z.string(), message: z.string() })).catch([]),
  failures: z.array(z.looseObject({ code: z.string(), ticker: z.string() })).catch([]),
  tags: tagsSchema.optional().catch(undefined),
});

export type RecordedFacts = z.infer<typeof factsSchema>;

/** The facts of an output on this machine; undefined for another document. @throws MucastError unreadable_blob. */
export async function readFacts({ path, name }: DocumentFile): Promise<RecordedFacts | undefined> {
  const wanted = Object.fromEntries(Object.keys(factsSchema.shape).map((member) => [member, true]));
  return factsSchema.safeParse({ ...(await readMembers(fileSource(path, name), wanted)) }).data;
}

/** Tickers that a job lost to an engine crash. */
export function crashedTickers({ failures }: RecordedFacts): string[] {
  return failures
    .filter(({ code }) => isCrash({ code } as Parameters<typeof isCrash>[0]))
    .map(({ ticker }) => ticker);
}

const IGNORED = /^config\.(.*) belongs to another service and was ignored$/s;

/** Config sections of other services, as the warnings name them, in their order. */
export function otherSections({ warnings }: RecordedFacts): string[] {
  return warnings.flatMap(({ code, message }) => {
    const section = code === "ignored_section" ? IGNORED.exec(message)?.[1] : undefined;
    return section === undefined ? [] : [section];
  });
}

/**
 * Copies an output to the work folder and reads what a replay needs from it.
 * @throws MucastError of reading it; unreadable_blob if it is not JSON; output_failed if the folder is full.
 */
export async function openRecorded(
  location: string,
  reading: Reading,
  workFolder: string,
): Promise<RecordedOutput> {
  const blob = await openBlob(location, reading.policy, { ...reading, names: "output" });
  const file = { path: join(workFolder, "recorded.json"), name: blob.name };
  const notWritten = (cause: unknown) => {
    throw workFolderError("written", cause);
  };
  const copy = await open(file.path, "wx", 0o600).catch(notWritten);
  try {
    for await (const chunk of counted(blob.chunks, reading)) await copy.writeFile(chunk).catch(notWritten);
  } finally {
    await copy.close();
  }
  const members = await readMembers<RecordedOutput["members"]>(fileSource(file.path, file.name), {
    ...{ schema: true, id: true, created_at: true },
  });
  return { ...file, sha256: blob.digest(), members, facts: await readFacts(file) };
}
