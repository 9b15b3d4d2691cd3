import { createHash, randomBytes } from "node:crypto";
import { linkSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf, codeOf } from "../../contract/errors/system-error.ts";
import { makeFolder } from "../../contract/machine/folders.ts";
import { shellWord } from "../../contract/machine/shell-word.ts";
import { checkDatabaseOwner, foreignOwner } from "./folder-owner.ts";
import { type Holder, lockFile, ownHolder, pidNamespace, readLock, stateOf } from "./lock-holder.ts";
import { FRESH_MILLISECONDS, isLockOf, LockWatch } from "./lock-watch.ts";

const LOOK_MILLISECONDS = 10_000;

/** An attempt fails only while another process takes over a dead holder's lock. */
const MAX_ATTEMPTS = 100;

/** The exit status of a process that has lost its data folder. */
export const LOST_EXIT = 9;

/** A data folder that only this process has open. */
export interface DataLock {
  /** The bearer token of local commands. */
  readonly token: string;
  /**
   * Ends the process if the lock is lost. Called before each statement of the database and before each answer: it checks the lock
   * if the last check is more than a second old.
   */
  endIfLost(): void;
  /** Writes the address of the service into the lock. */
  announce(address: string): void;
  release(): void;
}

export interface LockListener {
  /** Ends the process if the folder or its lock is gone, or another process holds it: nothing may be written any more. */
  readonly onLost?: (reason: string) => void;
  /** Called if the lock could not be read, for example without a free descriptor; the next check retries. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Locks a data folder for this process with a file beside the database that is created exclusively. Replaces a dead holder.
 * @throws MucastError unavailable, which names a live holder, one on another host, or another user who owns the database; output_failed if
 * the folder is not writable.
 */
export function lockDataFolder(
  dataDir: string,
  { onLost = endProcess, onError }: LockListener = {},
): DataLock {
  const path = lockFile(dataDir);
  const holder = mapFolderErrors(dataDir, () => takeLock(dataDir, path));
  const watch = new LockWatch({ path, token: holder.token, onLost, onError });
  const look = setInterval(() => watch.look(), LOOK_MILLISECONDS);
  look.unref();
  return {
    token: holder.token,
    endIfLost: () => watch.endIfLost(),
    announce: (address) => {
      watch.endIfLost();
      renameSync(writeDraft(path, { ...holder, address }), path);
    },
    release: () => {
      clearInterval(look);
      if (!watch.lost && isLockOf(path, holder.token)) rmSync(path, { force: true });
    },
  };
}

/** Nothing is closed: closing an embedded database writes to its files. */
function endProcess(reason: string): never {
  process.stderr.write(`mucast: ${reason}\n`);
  process.exit(LOST_EXIT);
}

function takeLock(dataDir: string, path: string): Holder {
  makeFolder(dataDir, 0o700);
  const holder = ownHolder(randomBytes(32).toString("base64url"));
  const draft = writeDraft(path, holder);
  try {
    checkDatabaseOwner(dataDir, draft);
    claim(dataDir, path, draft);
    return holder;
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Gives a lock its name, which no other process then has. Replaces the lock of a dead holder: only the process that has claimed the guard
 * of that lock, a name made from its token, may do so; otherwise, a second process could replace the successor's lock.
 * @throws MucastError unavailable if a process that lives, or is on another host, has the name or the guard.
 */
function claim(dataDir: string, path: string, draft: string): void {
  for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
    if (linked(draft, path)) return;
    const found = readLock(path);
    if (found === undefined) continue;
    if (stateOf(found) !== "gone") throw heldBy(dataDir, found);
    const guard = guardOf(path, found);
    claim(dataDir, guard, draft);
    try {
      // Another process may have replaced the lock before this one had the guard.
      if (!isLockOf(path, found.token)) continue;
      replaceBy(draft, path);
      if (found.namespace !== pidNamespace()) awaitFreshness();
      return;
    } finally {
      rmSync(guard, { force: true });
    }
  }
  const message = `${path} can be neither created nor read; remove what is there`;
  throw new MucastError("unavailable", message, { path });
}

function guardOf(path: string, { token }: Holder): string {
  return `${path}.${createHash("sha256").update(token).digest("hex").slice(0, 16)}`;
}

/** Replaces a lock in one step, so that its name is never free. */
function replaceBy(draft: string, path: string): void {
  const link = `${draft}-link`;
  linkSync(draft, link);
  renameSync(link, path);
}

function mapFolderErrors<T>(dataDir: string, body: () => T): T {
  try {
    return body();
  } catch (cause) {
    if (cause instanceof MucastError) throw cause;
    const reason = `the data folder ${dataDir} cannot be used: ${causeOf(cause)}`;
    const { code, path = dataDir } = cause as NodeJS.ErrnoException;
    const foreign = code === "EACCES" ? foreignOwner(path, dataDir) : undefined;
    const message =
      foreign === undefined ? `${reason}; free it, or give another --data-dir` : `${reason}. ${foreign}`;
    throw new MucastError("output_failed", message, { path: dataDir }, { cause });
  }
}

/** @returns false if `path` exists. */
function linked(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

function writeDraft(path: string, holder: Holder): string {
  const draft = `${path}.${process.pid}-${randomBytes(4).toString("hex")}`;
  writeFileSync(draft, `${JSON.stringify(holder)}\n`, { mode: 0o600, flag: "wx" });
  return draft;
}

/**
 * Waits until a process that still lives in another container would have looked at its lock before it writes. Blocks the process: it has
 * nothing else to do before it holds its folder.
 */
function awaitFreshness(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * FRESH_MILLISECONDS);
}

/** The error of a folder that another process holds. */
export function heldBy(dataDir: string, holder: Holder): MucastError {
  const { pid, host, address } = holder;
  const where = `process ${pid} on ${host} (${address === null ? "starting" : `at ${address}`})`;
  const message =
    stateOf(holder) === "elsewhere"
      ? `${dataDir} is held by ${where}, another host. Whether it still runs cannot be seen from here: stop it there. If it is gone ` +
        `for good, \`mucast db unlock --data-dir ${shellWord(dataDir)}\` frees the folder`
      : `${dataDir} is in use by ${where}; stop it, or give this one another --data-dir`;
  return new MucastError("unavailable", message, { path: dataDir, value: pid });
}
