import { MucastError } from "../../contract/errors/errors.ts";
import { repeatSweep } from "../row-sweep.ts";
import type { Log } from "../telemetry/log.ts";
import { listDumps, readDump, writeDump } from "./dump-files.ts";
import type { Dump } from "./pglite-dump.ts";

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
export function keepDumps({ dataDir, dump, log }: DumpParts): () => Promise<void> {
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
