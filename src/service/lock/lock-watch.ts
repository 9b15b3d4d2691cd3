import { MucastError } from "../../contract/errors/errors.ts";
import { readLock } from "./lock-holder.ts";

/** A check of the lock is valid for this long. */
export const FRESH_MILLISECONDS = 1_000;

interface LockWatchParts {
  readonly path: string;
  readonly token: string;
  /** Ends the process. If it returns, as in tests, every later check throws. */
  readonly onLost: (reason: string) => void;
  readonly onError: ((error: unknown) => void) | undefined;
}

/** Knows whether this process still holds its lock, even after the process or the machine was frozen. */
export class LockWatch {
  readonly #parts: LockWatchParts;
  /** By the wall clock, which goes on while a machine is suspended. */
  #looked = Date.now();
  #lost = false;

  constructor(parts: LockWatchParts) {
    this.#parts = parts;
  }

  get lost(): boolean {
    return this.#lost;
  }

  /** Checks the lock if the last check is more than a second old, or the clock was set, and ends the process if it is lost. */
  endIfLost(): void {
    if (Math.abs(Date.now() - this.#looked) >= FRESH_MILLISECONDS) this.look();
    if (this.#lost) throw new MucastError("unavailable", "this process no longer holds its data folder");
  }

  look(): void {
    if (this.#lost) return;
    const { path, token, onLost, onError } = this.#parts;
    const now = Date.now();
    try {
      if (isLockOf(path, token)) this.#looked = now;
      else {
        this.#lost = true;
        onLost("the data folder is gone, or another process has its lock");
      }
    } catch (error) {
      onError?.(error);
    }
  }
}

/** @returns false if there is none, or the file is not a lock. @throws the system's error if it cannot be read. */
export function isLockOf(path: string, token: string): boolean {
  try {
    return readLock(path)?.token === token;
  } catch (error) {
    if (error instanceof MucastError) return false;
    throw error;
  }
}
