// One set-up at a time: an exclusively created lock file with the pid and the start time of its owner. A lock whose owner is gone
// (killed midway) is taken over, once the processes that the owner had started have had time to end.
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { MILLISECONDS_BETWEEN_LOOKS } from "./parent.mjs";
import { processOf } from "./process-stat.mjs";

/**
 * Runs `body` while holding `file`.
 * @template T
 * @param {string} file
 * @param {(line: string) => void} say
 * @param {() => T | Promise<T>} body
 * @returns {Promise<T>}
 */
export async function withLock(file, say, body) {
  let told = false;
  let gone;
  while (!tryLock(file)) {
    const owner = readOwner(file);
    if (owner !== undefined && !isAlive(owner)) {
      if (owner === gone) removeLockOf(owner, file);
      else await pause(2 * MILLISECONDS_BETWEEN_LOOKS);
      gone = owner;
      continue;
    }
    if (!told) say(`setup: waiting for the set-up of process ${owner?.split(" ")[0]}, which holds ${file}`);
    told = true;
    await pause(200);
  }
  try {
    return await body();
  } finally {
    rmSync(file, { force: true });
  }
}

function tryLock(file) {
  // Linked into place with its content, so that a kill never leaves a lock without an owner.
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, markOf(process.pid));
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    return false;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Removes the lock of a dead owner, unless another process took it over in the meantime. */
function removeLockOf(owner, file) {
  const moved = `${file}.stale.${process.pid}`;
  try {
    renameSync(file, moved);
  } catch (error) {
    if (error.code === "ENOENT") return;
    throw error;
  }
  if (readOwner(moved) !== owner) linkSync(moved, file);
  rmSync(moved, { force: true });
}

/** The pid of a running process, and its start time if the system reports it, because pids are reused. */
function markOf(pid) {
  return `${pid} ${startTimeOf(pid)}`.trim();
}

/** @param {string} owner as in a lock; an older lock contains only a pid */
function isAlive(owner) {
  const [pid, start] = owner.split(" ");
  const found = startTimeOf(Number(pid));
  return found !== undefined && (start === undefined || found === start);
}

/** "" if the system does not report it; undefined if no such process is running. */
function startTimeOf(pid) {
  if (process.platform !== "linux") return takesSignals(pid) ? "" : undefined;
  return processOf(pid)?.start;
}

function takesSignals(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code !== "ESRCH";
  }
}

function readOwner(file) {
  try {
    const text = readFileSync(file, "utf8");
    return /^\d+( \d+)?$/.test(text) ? text : undefined;
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}
