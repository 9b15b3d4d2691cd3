import { utimesSync } from "node:fs";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf } from "../../contract/errors/system-error.ts";
import { readLock, TOUCH_MILLISECONDS } from "./lock-holder.ts";

/** A check of the lock is valid for this long. A lock that another process may take is far older. */
const FRESH_MILLISECONDS = 1_000;

/** The maximum time between two checks on a file system that machines share. */
export const MAX_STANDSTILL_MILLISECONDS = 40_000;

interface LockWatchParts {
  readonly path: string;
  readonly token: string;
  /** Whether other machines may write to the folder. Their changes may become visible late, so a check is not enough. */
  readonly isShared: boolean;
  /** Ends the process. If it returns, as in tests, every later check throws. */
  readonly onLost: (reason: string) => void;
  readonly onError: ((error: unknown) => void) | undefined;
}

/** Knows whether this process still holds its lock, even after the process or the machine was frozen. */
export class LockWatch {
  readonly #parts: LockWatchParts;
  #looked = clocks();
  #lost = false;

  constructor(parts: LockWatchParts) {
    this.#parts = parts;
  }

  get lost(): boolean {
    return this.#lost;
  }

  /**
   * Checks the lock if the last check is more than a second old, and ends the process if it is lost.
   * @returns why the lock could not be read for 10 s; undefined if it could.
   */
  endIfLost(): MucastError | undefined {
    if (this.#lost) throw lostError();
    return passedSince(this.#looked) < FRESH_MILLISECONDS ? undefined : this.#look();
  }

  /** Checks the lock and touches it, unless it could not be read: then it may belong to another process. */
  touch(): void {
    if (this.#lost) return;
    try {
      this.#look();
      const now = new Date();
      if (passedSince(this.#looked) < FRESH_MILLISECONDS) utimesSync(this.#parts.path, now, now);
    } catch (error) {
      if (!this.#lost) this.#parts.onError?.(error);
    }
  }

  #look(): MucastError | undefined {
    const { path, token, isShared, onError } = this.#parts;
    const now = clocks();
    const passed = passedSince(this.#looked, now);
    if (isShared && passed > MAX_STANDSTILL_MILLISECONDS) {
      const seconds = Math.round(passed / 1_000);
      this.#lose(
        `this process stood still for ${seconds} s, and another machine may have its data folder by now`,
      );
    }
    try {
      if (readLock(path)?.token !== token) throw lostError();
      this.#looked = now;
      return undefined;
    } catch (error) {
      // The file is not a lock, belongs to another process, or is missing.
      if (error instanceof MucastError) {
        this.#lose("the data folder is gone, or another process has its lock");
      }
      onError?.(error);
      if (passed < TOUCH_MILLISECONDS) return undefined;
      const message = `the lock of the data folder cannot be read: ${causeOf(error)}`;
      return new MucastError("unavailable", message, { retryAfter: 10 }, { cause: error });
    }
  }

  #lose(reason: string): never {
    this.#lost = true;
    this.#parts.onLost(reason);
    throw lostError();
  }
}

function lostError(): MucastError {
  return new MucastError("unavailable", "this process no longer holds its data folder");
}

/** The monotonic clock stands still while a machine is suspended; the wall clock may be set. */
interface Clocks {
  readonly monotonic: number;
  readonly wall: number;
}

function clocks(): Clocks {
  return { monotonic: performance.now(), wall: Date.now() };
}

/** Milliseconds, by the clock that shows more of them. A wall clock that was set back counts as well. */
function passedSince(before: Clocks, now = clocks()): number {
  return Math.max(now.monotonic - before.monotonic, Math.abs(now.wall - before.wall));
}
