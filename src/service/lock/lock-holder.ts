import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { z } from "zod";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf, codeOf } from "../../contract/errors/system-error.ts";
import { bootId, startTimeOf } from "../../contract/machine/process-stat.ts";
import { openSchema } from "../../contract/schema/open-schema.ts";
import { foreignOwner } from "./folder-owner.ts";

/** The content of a lock file: the service that holds the data folder. */
const holderSchema = z.strictObject({
  pid: z.int(),
  /** Start time of the process. Together with host, boot and pid, it identifies one process. */
  start: z.string(),
  boot: z.string(),
  host: z.string(),
  /** The PID namespace, which differs between containers; absent in locks of older versions. */
  namespace: z.string().optional(),
  /** The address of the service; null until it listens. */
  address: z.string().nullable(),
  /** Bearer token of local commands: the caller `local` with every scope. */
  token: z.string(),
});

export type Holder = z.infer<typeof holderSchema>;

/** Accepts the fields of a later version. */
const READ = openSchema(holderSchema);

export function lockFile(dataDir: string): string {
  return join(dataDir, "service.lock");
}

/**
 * Reads the service that holds a data folder; undefined if none does. @throws MucastError unavailable for a file that is not a lock.
 */
export function readHolder(dataDir: string): Holder | undefined {
  const found = readLock(lockFile(dataDir));
  return found && stateOf(found) !== "gone" ? found : undefined;
}

/** Reads a lock file, even if its holder is dead. @throws MucastError unavailable if another user owns it. */
export function readLock(path: string): Holder | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return undefined;
    const foreign = code === "EACCES" ? foreignOwner(path, dirname(path)) : undefined;
    if (foreign === undefined) throw error;
    const message = `the lock cannot be read: ${causeOf(error)}. ${foreign}`;
    throw new MucastError("unavailable", message, { path }, { cause: error });
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

/** This process as the holder of a folder. */
export function ownHolder(token: string): Holder {
  return {
    pid: process.pid,
    start: startTimeOf(process.pid) ?? "0",
    boot: bootId(),
    host: hostname(),
    namespace: pidNamespace(),
    address: null,
    token,
  };
}

/**
 * The state of a holder as seen from here. `held`: its process runs. `elsewhere`: it is on another host, so nothing is known about its
 * process. `gone`: its process has ended, or its machine has restarted since.
 */
export type HolderState = "held" | "elsewhere" | "gone";

export function stateOf({ host, boot, pid, start }: Holder): HolderState {
  if (host !== hostname()) return "elsewhere";
  return boot === bootId() && startTimeOf(pid) === start ? "held" : "gone";
}

/** Pids mean something only within one namespace. */
export function pidNamespace(): string {
  return process.platform === "linux" ? readlinkSync("/proc/self/ns/pid") : "";
}
