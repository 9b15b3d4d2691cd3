import { randomBytes } from "node:crypto";
import {
  linkSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { folderObstacle } from "../../blob/folder/staged-file.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf } from "../../contract/errors/system-error.ts";
import { makeFolder } from "../../contract/machine/folders.ts";
import { bootId, startTimeOf } from "../../contract/machine/process-stat.ts";
import { type Holder, isHeld, lockFile, readLock } from "./lock-holder.ts";

const TOUCH_MILLISECONDS = 10_000;
const GUARD_MILLISECONDS = 10_000;
/** An attempt fails only while another process takes a dead holder's lock. All attempts take longer than a guard is valid. */
const ATTEMPTS_AT_MOST = 3_000;
const PAUSE_MILLISECONDS = 5;

/** A data folder that only this process has open. */
export interface DataLock {
  /** The bearer token of local commands. */
  readonly token: string;
  /** Writes the address of the service into the lock. */
  announce(address: string): void;
  release(): void;
}

interface LockListener {
  /** Called once where the folder or its lock is gone, or another process holds the lock: later writes may be lost. */
  readonly onLost?: () => void;
  /** Called where the lock could not be read or touched, for instance without a free descriptor; the next touch tries again. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Locks a data folder for this process with a file beside the database that is created exclusively. Replaces a dead holder.
 * @throws MucastError unavailable, which names a live holder; output_failed where the folder cannot be written.
 */
export function lockDataFolder(dataDir: string, { onLost, onError }: LockListener = {}): DataLock {
  const path = lockFile(dataDir);
  const holder = mapFolderErrors(dataDir, () => takeLock(dataDir, path));
  const touch = setInterval(() => {
    try {
      if (isLockOf(holder, path)) {
        touchLock(path);
        return;
      }
    } catch (error) {
      onError?.(error);
      return;
    }
    clearInterval(touch);
    onLost?.();
  }, TOUCH_MILLISECONDS);
  touch.unref();
  return {
    token: holder.token,
    announce: (address) => {
      if (isLockOf(holder, path)) replaceLock(path, { ...holder, address });
    },
    release: () => {
      clearInterval(touch);
      if (isLockOf(holder, path)) rmSync(path, { force: true });
    },
  };
}

function isLockOf({ token }: Holder, path: string): boolean {
  try {
    return readLock(path)?.token === token;
  } catch (error) {
    if (error instanceof MucastError) return false;
    throw error;
  }
}

function takeLock(dataDir: string, path: string): Holder {
  makeFolder(dataDir, 0o700);
  const holder: Holder = {
    pid: process.pid,
    start: startTimeOf(process.pid) ?? "0",
    boot: bootId(),
    host: hostname(),
    address: null,
    token: randomBytes(32).toString("base64url"),
  };
  for (let attempts = 0; attempts < ATTEMPTS_AT_MOST; attempts++) {
    if (createLock(path, holder)) return holder;
    const found = readLock(path);
    if (found && isHeld(found, path)) throw heldBy(dataDir, found);
    if (found) removeDead(path);
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) break;
    pause();
  }
  throw new MucastError("unavailable", `${path} can be neither made nor read; remove what stands there`, {
    path,
  });
}

/** Blocks the process: the service has nothing else to do before it holds its folder. */
function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MILLISECONDS);
}

function mapFolderErrors<T>(dataDir: string, body: () => T): T {
  try {
    return body();
  } catch (cause) {
    if (cause instanceof MucastError) throw cause;
    const reason = causeOf(folderObstacle(dataDir, cause));
    const message = `the data folder ${dataDir} cannot be used: ${reason}; free it, or give another --data-dir`;
    throw new MucastError("output_failed", message, { path: dataDir }, { cause });
  }
}

/** Creates the lock file with all its bytes at once. @returns false where there is one. */
function createLock(path: string, holder: Holder): boolean {
  const draft = writeDraft(path, holder);
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function replaceLock(path: string, holder: Holder): void {
  renameSync(writeDraft(path, holder), path);
}

function writeDraft(path: string, holder: Holder): string {
  const draft = `${path}.${process.pid}-${randomBytes(4).toString("hex")}`;
  writeFileSync(draft, `${JSON.stringify(holder)}\n`, { mode: 0o600, flag: "wx" });
  return draft;
}

/** Does nothing where the folder is gone: the next statement of the database fails then. */
function touchLock(path: string): void {
  const now = new Date();
  if (statSync(path, { throwIfNoEntry: false })) utimesSync(path, now, now);
}

/** Removes a dead holder's lock, one process at a time. Reads it again before, since a live process may have taken it. */
function removeDead(path: string): void {
  const guard = `${path}.guard`;
  try {
    mkdirSync(guard);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const age = Date.now() - (statSync(guard, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > GUARD_MILLISECONDS) rmSync(guard, { recursive: true, force: true });
    return;
  }
  try {
    const found = readLock(path);
    if (found && !isHeld(found, path)) rmSync(path, { force: true });
  } finally {
    rmdirSync(guard);
  }
}

function heldBy(dataDir: string, { pid, host, address }: Holder): MucastError {
  const where = address === null ? "starting" : `at ${address}`;
  return new MucastError(
    "unavailable",
    `${dataDir} is in use by process ${pid} on ${host} (${where}); stop it, or give this one another --data-dir`,
    { path: dataDir, value: pid },
  );
}
