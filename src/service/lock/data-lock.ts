import { randomBytes } from "node:crypto";
import {
  linkSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf } from "../../contract/errors/system-error.ts";
import { makeFolder } from "../../contract/machine/folders.ts";
import { shellWord } from "../../contract/machine/shell-word.ts";
import { isShared as isSharedFolder } from "./file-system.ts";
import {
  type Holder,
  type HolderState,
  lastTouch,
  lockFile,
  ownHolder,
  readLock,
  SILENT_MILLISECONDS,
  stateOf,
  TOUCH_MILLISECONDS,
} from "./lock-holder.ts";
import { LockWatch } from "./lock-watch.ts";

const GUARD_MILLISECONDS = 10_000;
/**
 * An attempt fails only while another process takes over a dead holder's lock. All attempts together take longer than a guard is
 * valid.
 */
const MAX_ATTEMPTS = 3_000;
const PAUSE_MILLISECONDS = 5;
/** Longer than a lock takes to become silent after its last touch. */
const WAIT_MILLISECONDS = SILENT_MILLISECONDS + 5_000;

/** The exit status of a process that has lost its data folder. */
export const LOST_EXIT = 9;

/** A data folder that only this process has open. */
export interface DataLock {
  /** The bearer token of local commands. */
  readonly token: string;
  /**
   * Ends the process if the lock is lost. Called before each access to a file of the database and before each answer: it checks the
   * lock if the last check is more than a second old, by the monotonic or the wall clock.
   */
  endIfLost(): void;
  /** The same, before work starts. @throws MucastError unavailable if the lock could not be read for 10 s. */
  check(): void;
  /** Writes the address of the service into the lock. */
  announce(address: string): void;
  release(): void;
}

export interface LockListener {
  /** Ends the process if the folder or its lock is gone, or another process may hold it: nothing may be written any more. */
  readonly onLost?: (reason: string) => void;
  /** Called if the lock could not be read or touched, for example without a free descriptor; the next touch retries. */
  readonly onError?: (error: unknown) => void;
  /** Whether other machines may write to the folder; by default decided by its file system. */
  readonly isShared?: boolean;
}

/**
 * Locks a data folder for this process with a file beside the database that is created exclusively. Replaces a dead holder. Waits up
 * to 25 s if the holder was recently alive in another container of this machine.
 * @throws MucastError unavailable, which names a live holder, or one on another machine; output_failed if the folder is not writable.
 */
export function lockDataFolder(dataDir: string, listener: LockListener = {}): DataLock {
  const path = lockFile(dataDir);
  const holder = mapFolderErrors(dataDir, () => takeLock(dataDir, path));
  const { onLost = endProcess, onError, isShared = isSharedFolder(dataDir) } = listener;
  const watch = new LockWatch({ path, token: holder.token, isShared, onLost, onError });
  const touch = setInterval(() => watch.touch(), TOUCH_MILLISECONDS);
  touch.unref();
  return {
    token: holder.token,
    endIfLost: () => void watch.endIfLost(),
    check: () => {
      const error = watch.endIfLost();
      if (error) throw error;
    },
    announce: (address) => {
      watch.endIfLost();
      replaceLock(path, { ...holder, address });
    },
    release: () => {
      clearInterval(touch);
      if (!watch.lost && isLockOf(holder, path)) rmSync(path, { force: true });
    },
  };
}

/** Nothing is closed: closing an embedded database writes to its files. */
function endProcess(reason: string): never {
  process.stderr.write(`mucast: ${reason}\n`);
  process.exit(LOST_EXIT);
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
  const holder = ownHolder(randomBytes(32).toString("base64url"));
  for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
    if (createLock(path, holder)) return holder;
    const found = readLock(path);
    if (found) {
      awaitSilence(dataDir, found, path);
      removeDead(path);
    }
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) break;
    pause();
  }
  throw new MucastError("unavailable", `${path} can be neither created nor read; remove what is there`, {
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
    const reason = causeOf(cause);
    const message = `the data folder ${dataDir} cannot be used: ${reason}; free it, or give another --data-dir`;
    throw new MucastError("output_failed", message, { path: dataDir }, { cause });
  }
}

/** Creates the lock file with all its bytes at once. @returns false if there is one. */
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

/** Removes a dead holder's lock, one process at a time. Reads it again first, since a live process may have taken it. */
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
    if (found && stateOf(found, path) === "gone") rmSync(path, { force: true });
  } finally {
    rmdirSync(guard);
  }
}

/**
 * Returns when a holder is gone. A holder in another container of this machine shows that it lives by touching its lock.
 * @throws MucastError unavailable if it is not gone after 25 s.
 */
function awaitSilence(dataDir: string, holder: Holder, path: string): void {
  const touched = lastTouch(path);
  const began = performance.now();
  for (;;) {
    const state = stateOf(holder, path);
    if (state === "gone") return;
    if (state !== "hidden") throw heldBy(dataDir, holder, path, state);
    if (lastTouch(path) !== touched) {
      // Another process may have taken the lock in the meantime: then that holder is checked next.
      if (readLock(path)?.token !== holder.token) return;
      throw heldBy(dataDir, holder, path, state);
    }
    // If the clock was set back since, the touch is in the future, and the wait would not end.
    if (performance.now() - began > WAIT_MILLISECONDS) throw heldBy(dataDir, holder, path, state);
    pause();
  }
}

/** The error of a folder that another process holds. */
export function heldBy(
  dataDir: string,
  { pid, host, address }: Holder,
  path: string,
  state: HolderState,
): MucastError {
  const where = address === null ? "starting" : `at ${address}`;
  const message =
    state === "elsewhere"
      ? `${dataDir} is held by process ${pid} on ${host} (${where}), another machine, which touched its lock last at ` +
        `${new Date(lastTouch(path)).toISOString()}. Whether it still runs cannot be seen from here: stop it there. Where it is ` +
        `gone for good, \`${unlockCommand(dataDir)}\` frees the folder`
      : `${dataDir} is in use by process ${pid} on ${host} (${where}); stop it, or give this one another --data-dir` +
        (state === "hidden"
          ? `. Where it is gone for good, \`${unlockCommand(dataDir)}\` frees the folder`
          : "");
  return new MucastError("unavailable", message, { path: dataDir, value: pid });
}

function unlockCommand(dataDir: string): string {
  return `mucast db unlock --data-dir ${shellWord(dataDir)}`;
}
