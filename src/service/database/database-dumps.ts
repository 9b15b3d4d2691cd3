import type { Hash } from "node:crypto";
import { createReadStream, readdirSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { z } from "zod";
import { publishStaged, stageFile } from "../../blob/folder/staged-file.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf, codeOf } from "../../contract/errors/system-error.ts";
import { makeFolder } from "../../contract/machine/folders.ts";
import { repeatSweep } from "../row-sweep.ts";
import type { Log } from "../telemetry/log.ts";
import { type Dump, type DumpHeader, type DumpRows, digestOf } from "./pglite-dump.ts";

const HOUR = 3_600_000;

interface DumpParts {
  readonly dataDir: string;
  readonly dump: DumpRows;
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
    const { sha256, path } = await dumpDatabase(dataDir, dump, last);
    last = sha256;
    if (path !== undefined) log.debug({ path }, "dumped the database");
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
    return (await scanDump(newest, () => undefined)).sha256;
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

/** Where the rows of a dump are kept until its header is known. Only the holder of the data folder's lock writes a dump. */
const ROWS_NAME = ".rows.tmp";
const PIECE_BYTES = 2 ** 20;

interface Dumped {
  readonly sha256: string;
  readonly path: string;
}

/**
 * Writes a dump of a database, which never has to fit into the memory. While it is written, its rows are also on disk uncompressed.
 * @param last the digest of an earlier dump. A dump of the same state is not written, and has no path.
 * @throws MucastError output_failed.
 */
export function dumpDatabase(dataDir: string, dump: DumpRows): Promise<Dumped>;
export function dumpDatabase(
  dataDir: string,
  dump: DumpRows,
  last: string | undefined,
): Promise<Pick<Dumped, "sha256"> & Partial<Dumped>>;
export async function dumpDatabase(
  dataDir: string,
  dump: DumpRows,
  last?: string,
): Promise<Pick<Dumped, "sha256"> & Partial<Dumped>> {
  const path = join(dumpFolder(dataDir), ROWS_NAME);
  makeFolder(dumpFolder(dataDir), 0o700, dataDir);
  try {
    const file = await open(path, "w", 0o600);
    const { tables, sequences, ...facts } = await dump((rows) => file.writeFile(rows)).finally(() =>
      file.close(),
    );
    const digest = digestOf({ tables, sequences });
    for await (const piece of piecesOf(path)) digest.update(piece);
    const sha256 = digest.digest("hex");
    if (sha256 === last) return { sha256 };
    const header = { ...facts, sha256, tables, sequences };
    return { sha256, path: await writeDump(dataDir, { header, tables: piecesOf(path) }) };
  } finally {
    await rm(path, { force: true });
  }
}

function piecesOf(path: string): AsyncIterable<Uint8Array> {
  return createReadStream(path, { highWaterMark: PIECE_BYTES });
}

/**
 * Writes a dump atomically, readable only by its owner, and removes the oldest dumps beyond the limit.
 * @param dump `tables`: all rows, in pieces of any size.
 * @returns its path.
 * @throws MucastError output_failed.
 */
export async function writeDump(
  dataDir: string,
  {
    header,
    tables,
  }: { readonly header: DumpHeader; readonly tables: Iterable<Uint8Array> | AsyncIterable<Uint8Array> },
): Promise<string> {
  const content = async function* () {
    yield Buffer.from(`${JSON.stringify(header)}\n`);
    yield* tables;
  };
  const bytes = through(createGzip(), content());
  const name = `database-${header.taken_at.replaceAll(/[:.]/g, "-")}.dump.gz`;
  const staged = await stageFile(dumpFolder(dataDir), name, bytes, { isPrivate: true, root: dataDir });
  if (!(await publishStaged(staged))) {
    await rm(staged.path, { force: true });
    throw new MucastError("output_failed", `${staged.target} exists already`, { path: staged.target });
  }
  for (const path of listDumps(dataDir).slice(MAX_DUMPS)) await rm(path, { force: true });
  return staged.target;
}

/** What a transform makes of pieces. */
async function* through(transform: Transform, pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  // A reader of the transform gets its errors.
  pipeline(pieces, transform).catch(() => undefined);
  yield* transform;
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

/** Reads a dump into memory. @throws MucastError unreadable_blob with the path. */
export async function readDump(path: string): Promise<Dump> {
  const pieces: Uint8Array[] = [];
  const header = await scanDump(path, (rows) => pieces.push(rows));
  const bytes = Buffer.concat(pieces);
  let at = 0;
  const tables = header.tables.map(({ bytes: length }) => {
    at += length;
    return bytes.subarray(at - length, at);
  });
  return { header, tables };
}

/**
 * Reads a dump and checks it.
 * @param onRows gets all rows, piece by piece.
 * @throws MucastError unreadable_blob with the path.
 */
async function scanDump(path: string, onRows: (rows: Uint8Array) => void): Promise<DumpHeader> {
  try {
    const start: Uint8Array[] = [];
    let scanned: { readonly header: DumpHeader; readonly digest: Hash } | undefined;
    let length = 0;
    for await (const piece of through(createGunzip(), piecesOf(path))) {
      let rows = piece;
      if (scanned === undefined) {
        const end = piece.indexOf(LINE_BREAK);
        start.push(end < 0 ? piece : piece.subarray(0, end));
        if (end < 0) continue;
        const header = headerSchema.parse(JSON.parse(Buffer.concat(start).toString("utf8")));
        scanned = { header, digest: digestOf(header) };
        rows = piece.subarray(end + 1);
      }
      scanned.digest.update(rows);
      length += rows.length;
      onRows(rows);
    }
    if (scanned === undefined) throw new SyntaxError("it has no header");
    const { header, digest } = scanned;
    if (length !== header.tables.reduce((sum, { bytes }) => sum + bytes, 0))
      throw new Error("it is truncated");
    if (digest.digest("hex") !== header.sha256) throw new Error("its rows do not match its digest");
    return header;
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
