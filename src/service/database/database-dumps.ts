import { readdirSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { z } from "zod";
import { publishStaged, stageFile } from "../../blob/folder/staged-file.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf, codeOf } from "../../contract/errors/system-error.ts";
import { repeatSweep } from "../row-sweep.ts";
import type { Log } from "../telemetry/log.ts";
import { type Dump, type DumpHeader, digestOf } from "./pglite-dump.ts";

const HOUR = 3_600_000;

interface DumpParts {
  readonly dataDir: string;
  /** Reads the whole database. */
  readonly dump: () => Promise<Dump>;
  readonly log: Log;
}

/**
 * Dumps the embedded database at once and every hour if something has changed.
 * @returns a function that stops this and writes a last dump. Close the database afterwards.
 */
export function startDumps({ dataDir, dump, log }: DumpParts): () => Promise<void> {
  let last: string | undefined;
  const dumpChanges = async () => {
    last ??= await newestDigest(dataDir, log);
    const taken = await dump();
    if (taken.header.sha256 === last) return;
    const path = await writeDump(dataDir, taken);
    last = taken.header.sha256;
    log.debug({ path }, "dumped the database");
  };
  const onError = (error: unknown) => {
    log.warn({ err: error }, "the database could not be dumped; earlier dumps are kept");
  };
  const stop = repeatSweep(dumpChanges, HOUR, onError);
  return async () => {
    await stop();
    await dumpChanges().catch(onError);
  };
}

/** Undefined if there is no readable dump: then the next one is written. */
async function newestDigest(dataDir: string, log: Log): Promise<string | undefined> {
  const [newest] = listDumps(dataDir);
  if (newest === undefined) return undefined;
  try {
    return (await readDump(newest)).header.sha256;
  } catch (error) {
    if (!(error instanceof MucastError)) throw error;
    log.warn({ err: error }, "the newest dump of the database is damaged");
    return undefined;
  }
}

/** As many as one day of changes creates. */
export const MAX_DUMPS = 24;

const NAME = /^database-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z\.dump\.gz$/;

/** The folder of the dumps in a data folder. */
export function dumpFolder(dataDir: string): string {
  return join(dataDir, "backups");
}

/** Paths of the dumps of a data folder, newest first. */
export function listDumps(dataDir: string): string[] {
  const folder = dumpFolder(dataDir);
  try {
    const names = readdirSync(folder).filter((name) => NAME.test(name));
    return names
      .sort()
      .reverse()
      .map((name) => join(folder, name));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

/**
 * Writes a dump atomically, readable only by its owner, and removes the oldest dumps beyond the limit.
 * @returns its path.
 * @throws MucastError output_failed.
 */
export async function writeDump(dataDir: string, { header, tables }: Dump): Promise<string> {
  const bytes = await promisify(gzip)(Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), ...tables]));
  const name = `database-${header.taken_at.replaceAll(/[:.]/g, "-")}.dump.gz`;
  const staged = await stageFile(dumpFolder(dataDir), name, bytes, { isPrivate: true, root: dataDir });
  if (!(await publishStaged(staged))) {
    await rm(staged.path, { force: true });
    throw new MucastError("output_failed", `${staged.target} exists already`, { path: staged.target });
  }
  for (const path of listDumps(dataDir).slice(MAX_DUMPS)) await rm(path, { force: true });
  return staged.target;
}

/** The name of a table or a column: statements quote it, nothing more. */
const name = z.string().regex(/^[a-z][a-z0-9_]*$/);

const headerSchema: z.ZodType<DumpHeader> = z.object({
  mucast_dump: z.literal(1),
  mucast: z.string(),
  taken_at: z.iso.datetime(),
  schema: z.int().min(1),
  operations: z.int(),
  sha256: z.string(),
  tables: z.array(z.object({ name, columns: z.array(name), bytes: z.int().nonnegative() })),
  sequences: z.array(z.object({ table: name, column: name, value: z.string() })),
});

const LINE_BREAK = 10;

/** Reads a dump. @throws MucastError unreadable_blob with the path. */
export async function readDump(path: string): Promise<Dump> {
  try {
    const bytes = await promisify(gunzip)(await readFile(path));
    const end = bytes.indexOf(LINE_BREAK);
    const header = headerSchema.parse(JSON.parse(bytes.toString("utf8", 0, end)));
    const tables: Uint8Array[] = [];
    let at = end + 1;
    for (const { bytes: length } of header.tables) {
      tables.push(bytes.subarray(at, at + length));
      at += length;
    }
    if (at !== bytes.length) throw new Error("it is truncated");
    if (digestOf(header, tables) !== header.sha256) throw new Error("its rows do not match its digest");
    return { header, tables };
  } catch (cause) {
    const reason =
      cause instanceof z.ZodError || cause instanceof SyntaxError ? "it is no dump" : causeOf(cause);
    throw new MucastError(
      "unreadable_blob",
      `${path} cannot be read as a dump: ${reason}`,
      { path },
      { cause },
    );
  }
}
