import { join } from "node:path";
import { z } from "zod";
import { openBlob } from "../blob/open-blob.ts";
import { JOB_OPERATIONS, type Operation } from "../contract/config/job-operations.ts";
import { tagsSchema } from "../contract/config/tags.ts";
import type { ErrorCode } from "../contract/errors/error-codes.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { OUTPUT_SCHEMA_NAME } from "../contract/output/output-blob.ts";
import type { Reading } from "./find-inputs.ts";
import { JsonFile, writeCompact } from "./json-file.ts";

export interface RecordedOutput {
  readonly file: JsonFile;
  /** Its path, or its URL without a secret. */
  readonly name: string;
  readonly sha256: string;
  /** Members of any shape. */
  readonly schema: unknown;
  readonly id: unknown;
  readonly createdAt: unknown;
  /** Undefined if the document is not an output of a job, or does not name its inputs. */
  readonly facts: RecordedFacts | undefined;
}

/** Maximum characters of a URL or a name, far more than those that a job reads. */
const MAX_NAME_LENGTH = 4_096;
const name = z.string().min(1).max(MAX_NAME_LENGTH);
const digest = z.string().regex(/^[0-9a-f]{64}$/);

/** The parts of `provenance` that a replay uses; other versions may record less or more. */
const provenanceSchema = z.looseObject({
  feature_url: name,
  data_extractor_url: name,
  feature_sha256: digest,
  data_extractor_sha256: digest,
  requested_window: z
    .looseObject({
      start: z.iso.date().nullable(),
      end: z.iso.date().nullable(),
      learning_end: z.iso.date().nullable(),
    })
    .optional(),
  config_sha256: digest,
  versions: z.record(z.string(), z.string()),
  commit: z.string().optional(),
  device: z.string().max(MAX_NAME_LENGTH),
  config: z.string().nullable().optional(),
  lock_sha256: z.string().nullable().optional(),
  kernel_level: z.string().nullable().optional(),
});
export type RecordedProvenance = z.infer<typeof provenanceSchema>;

export interface RecordedFacts {
  readonly operation: Operation;
  readonly provenance: RecordedProvenance;
  /** Of any shape; undefined if the output does not name its machine. */
  readonly machine: unknown;
  /** Config sections of other services, as the warnings name them, in their order. */
  readonly otherSections: readonly string[];
  /** Tickers that were lost to an engine crash. */
  readonly crashed: readonly string[];
  /** Undefined if it has none, or what no job records. */
  readonly tags: readonly string[] | undefined;
  /** Whether it has intervals from a version without methods. */
  readonly intervalsWithoutMethod: boolean;
}

/**
 * Copies an output to the work folder and reads what a replay needs from it.
 * @throws MucastError of reading it; unreadable_blob if it is not a JSON object; output_failed if the folder is full.
 */
export async function openRecorded(
  location: string,
  { policy, report, signal, blobUrl }: Reading,
  workFolder: string,
): Promise<RecordedOutput> {
  const blob = await openBlob(location, policy, { signal, blobUrl, names: "output" });
  const path = join(workFolder, "recorded.json");
  await writeCompact({ name: blob.name, chunks: counted(blob.chunks, report) }, path);
  const file = await JsonFile.open(path, blob.name);
  try {
    const [schema, id] = [await read(file, "schema"), await read(file, "id")];
    const createdAt = await read(file, "created_at");
    const facts = schema === OUTPUT_SCHEMA_NAME ? await factsOf(file) : undefined;
    return { file, name: blob.name, sha256: blob.digest(), schema, id, createdAt, facts };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** The facts of a document that a job of this version has just written. */
export async function readFacts(file: JsonFile): Promise<RecordedFacts> {
  const facts = await factsOf(file);
  if (facts === undefined) throw new Error(`${file.name} is not an output of a job`);
  return facts;
}

/** Maximum bytes of a member that is read as a whole. */
const SMALL_BYTES = 16 * 2 ** 20;

/** A member of a document by name; undefined if it lacks it. @throws MucastError too_large. */
async function read(file: JsonFile, name: string): Promise<unknown> {
  const found = file.members.get(name);
  if (found === undefined) return undefined;
  if (found.end - found.value <= SMALL_BYTES) return file.parse(found);
  const message = `${file.name} cannot be replayed: its ${name} has more than ${SMALL_BYTES} bytes`;
  throw new MucastError("too_large", message, { source: file.name, path: name, limit: SMALL_BYTES });
}

async function factsOf(file: JsonFile): Promise<RecordedFacts | undefined> {
  const operation = await read(file, "operation");
  const provenance = provenanceSchema.safeParse(await read(file, "provenance"));
  const known = JOB_OPERATIONS.find((name) => name === operation);
  if (!provenance.success || known === undefined) return undefined;
  return {
    operation: known,
    provenance: provenance.data,
    machine: await read(file, "machine"),
    otherSections: otherSections(await read(file, "warnings")),
    crashed: crashedTickers(await read(file, "failures")),
    tags: tagsSchema.safeParse(await read(file, "tags")).data,
    intervalsWithoutMethod: lacksMethod(await read(file, "model")),
  };
}

const IGNORED = /^config\.(.*) belongs to another service and was ignored$/s;

function otherSections(warnings: unknown): string[] {
  if (!Array.isArray(warnings)) return [];
  return warnings.flatMap((warning) => {
    if (warning?.code !== "ignored_section" || typeof warning.message !== "string") return [];
    const name = IGNORED.exec(warning.message)?.[1];
    return name === undefined ? [] : [name];
  });
}

function crashedTickers(failures: unknown): string[] {
  if (!Array.isArray(failures)) return [];
  return failures.flatMap((failure) => {
    const isCrash = failure?.code === ("engine_crashed" satisfies ErrorCode);
    return isCrash && typeof failure.ticker === "string" ? [failure.ticker] : [];
  });
}

function lacksMethod(model: unknown): boolean {
  const { intervals } = (model ?? {}) as { intervals?: unknown };
  return typeof intervals === "object" && intervals !== null && !Object.hasOwn(intervals, "method");
}

async function* counted(chunks: AsyncIterable<Uint8Array>, report: Reading["report"]) {
  let done = 0;
  for await (const chunk of chunks) {
    done += chunk.length;
    report({ kind: "progress", stage: "read", done });
    yield chunk;
  }
}
