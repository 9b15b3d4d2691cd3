import { readFileSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { openSchema } from "../../contract/api/open-schema.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { startTimeOf } from "../../contract/machine/process-stat.ts";

/** What a lock file says of the service that holds its data folder. */
export const holderSchema = z.strictObject({
  pid: z.int(),
  /** With the pid and the boot it names one process. */
  start: z.string(),
  boot: z.string(),
  host: z.string(),
  /** Where it answers; null until it does. */
  address: z.string().nullable(),
  /** Bearer token of the local commands, caller `local` with every scope. */
  token: z.string(),
});

export type Holder = z.infer<typeof holderSchema>;

/** A service of a later version may have written it. */
const READ = openSchema(holderSchema);

/** A holder on another machine that has not touched its lock for so long is gone. */
const SILENT_MILLISECONDS = 60_000;

export function lockFile(dataDir: string): string {
  return join(dataDir, "service.lock");
}

/** The service that holds a data folder now; undefined where none does. @throws MucastError unavailable for a file that is no lock. */
export function readHolder(dataDir: string): Holder | undefined {
  const found = readLock(lockFile(dataDir));
  return found && isHeld(found, lockFile(dataDir)) ? found : undefined;
}

/** Whatever the lock file says, also of a holder that is gone. */
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

/** On this machine its process is looked up, on another one the lock's last touch. */
export function isHeld(holder: Holder, path: string): boolean {
  if (holder.host !== hostname()) return Date.now() - lastTouch(path) < SILENT_MILLISECONDS;
  return holder.boot === bootId() && startTimeOf(holder.pid) === holder.start;
}

function lastTouch(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Changes with every start of the machine; the same everywhere where the system does not tell. */
export function bootId(): string {
  if (process.platform !== "linux") return "";
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}
