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
import { startTimeOf } from "../../contract/machine/process-stat.ts";
import { bootId, type Holder, isHeld, lockFile, readLock } from "./lock-holder.ts";

const TOUCH_MILLISECONDS = 10_000;
const GUARD_MILLISECONDS = 10_000;
/** A try fails only while another process takes the lock of a dead one; together longer than a guard is believed. */
const TRIES_AT_MOST = 3_000;
const PAUSE_MILLISECONDS = 5;

/** A data folder that this process alone has open. */
export interface DataLock {
  /** What local commands show to be let in. */
  readonly token: string;
  /** Says where the service answers. */
  announce(address: string): void;
  release(): void;
}

/** What becomes of a lock that is held. */
export interface LockListener {
  /** Called once where the folder, or the lock in it, turns out to be gone or another's: what is stored from then on may be lost. */
  readonly onLost?: () => void;
  /** Called where the lock could not be looked at or touched, as without a free descriptor; it is tried again. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Takes a data folder for this process, by a file made exclusively beside the database. A holder that is dead is
 * replaced.
 * @throws MucastError unavailable that names a holder that lives; output_failed where the folder cannot be written to.
 */
export function lockDataFolder(dataDir: string, { onLost, onError }: LockListener = {}): DataLock {
  const path = lockFile(dataDir);
  const holder = writing(dataDir, () => takeLock(dataDir, path));
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
  for (let tries = 0; tries < TRIES_AT_MOST; tries++) {
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

/** Blocks: the service has nothing else to do before it holds its folder. */
function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MILLISECONDS);
}

function writing<T>(dataDir: string, body: () => T): T {
  try {
    return body();
  } catch (cause) {
    if (cause instanceof MucastError) throw cause;
    const reason = causeOf(folderObstacle(dataDir, cause));
    const message = `the data folder ${dataDir} cannot be used: ${reason}; free it, or give another --data-dir`;
    throw new MucastError("output_failed", message, { path: dataDir }, { cause });
  }
}

/** The file appears whole or not at all. @returns false where there is one. */
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

/** Where the folder was removed under the service the next statement of the database tells. */
function touchLock(path: string): void {
  const now = new Date();
  if (statSync(path, { throwIfNoEntry: false })) utimesSync(path, now, now);
}

/** Only one process at a time removes a dead holder's lock, and looks again before: it may be another's by now. */
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
