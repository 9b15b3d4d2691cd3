import { readFileSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { MucastError } from "../../contract/errors/errors.ts";
import { bootId, startTimeOf } from "../../contract/machine/process-stat.ts";
import { openSchema } from "../../contract/schema/open-schema.ts";

/** The content of a lock file: the service that holds the data folder. */
const holderSchema = z.strictObject({
  pid: z.int(),
  /** Start time of the process. With the pid and the boot it names one process. */
  start: z.string(),
  boot: z.string(),
  host: z.string(),
  /** The address of the service; null until it listens. */
  address: z.string().nullable(),
  /** Bearer token of local commands: the caller `local` with every scope. */
  token: z.string(),
});

export type Holder = z.infer<typeof holderSchema>;

/** Open to the fields of a later version. */
const READ = openSchema(holderSchema);

/** A holder on another machine is gone once it has not touched its lock for this long. */
const SILENT_MILLISECONDS = 60_000;

export function lockFile(dataDir: string): string {
  return join(dataDir, "service.lock");
}

/** Reads the service that holds a data folder; undefined where none does. @throws MucastError unavailable for a file that is no lock. */
export function readHolder(dataDir: string): Holder | undefined {
  const found = readLock(lockFile(dataDir));
  return found && isHeld(found, lockFile(dataDir)) ? found : undefined;
}

/** Reads a lock file, also that of a dead holder. */
export function readLock(path: string): Holder | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const parsed = READ.safeParse(jsonOf(text));
  if (parsed.success) return parsed.data;
  throw new MucastError(
    "unavailable",
    `${path} is not a lock of mucast; remove it where no service uses this folder`,
    { path },
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a holder lives: on this machine by its process, on another machine by the last touch of its lock. */
export function isHeld(holder: Holder, path: string): boolean {
  if (holder.host !== hostname()) return Date.now() - lastTouch(path) < SILENT_MILLISECONDS;
  return holder.boot === bootId() && startTimeOf(holder.pid) === holder.start;
}

function lastTouch(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
