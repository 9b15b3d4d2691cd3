// One set-up at a time: a lock file made exclusively, holding the pid of its owner. A lock whose owner is gone
// (killed in the middle) is taken over.
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

/**
 * Runs `body` while holding `file`.
 * @template T
 * @param {string} file
 * @param {(line: string) => void} say
 * @param {() => T} body
 * @returns {T}
 */
export function withLock(file, say, body) {
  let told = false;
  while (!tryLock(file)) {
    if (!told) say("setup: another set-up is at work here; waiting for it");
    told = true;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  }
  try {
    return body();
  } finally {
    rmSync(file, { force: true });
  }
}

function tryLock(file) {
  // Linked into place whole, so that a kill at any moment never leaves a lock without its owner's pid.
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, String(process.pid));
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    const owner = readPid(file);
    if (owner !== undefined && !isAlive(owner)) removeLockOf(owner, file);
    return false;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Removes the lock of a dead owner, unless somebody else took it over in the meantime. */
function removeLockOf(owner, file) {
  const moved = `${file}.stale.${process.pid}`;
  try {
    renameSync(file, moved);
  } catch (error) {
    if (error.code === "ENOENT") return;
    throw error;
  }
  if (readPid(moved) !== owner) linkSync(moved, file);
  rmSync(moved, { force: true });
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code !== "ESRCH";
  }
}

function readPid(file) {
  try {
    const text = readFileSync(file, "utf8");
    return /^\d+$/.test(text) ? Number(text) : undefined;
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}
