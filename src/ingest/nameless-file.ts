import { randomUUID } from "node:crypto";
import { closeSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { workFolderError } from "../contract/errors/system-error.ts";

/**
 * A file in the work folder that is created by the first write and unlinked at once, so that the system frees it when the process ends at
 * the latest.
 */
export class NamelessFile {
  readonly #folder: string;
  #file: number | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Whether anything was written. */
  get exists(): boolean {
    return this.#file !== undefined;
  }

  /** @param at byte offset in the file. */
  write(bytes: Uint8Array, at: number): void {
    try {
      this.#file ??= openNameless(this.#folder);
      let done = 0;
      while (done < bytes.length) {
        done += writeSync(this.#file, bytes, done, bytes.length - done, at + done);
      }
    } catch (error) {
      throw workFolderError("written", error);
    }
  }

  /** Fills `into` with the bytes from `at` on, all of which were written before. */
  read(into: Uint8Array, at: number): void {
    let done = 0;
    while (done < into.length) {
      const count = this.#readPart(into, done, at + done);
      if (count === 0) throw new Error(`the work file in ${this.#folder} was cut short`);
      done += count;
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #readPart(into: Uint8Array, done: number, at: number): number {
    try {
      return readSync(this.#file!, into, done, into.length - done, at);
    } catch (error) {
      throw workFolderError("read", error);
    }
  }
}

function openNameless(folder: string): number {
  const path = join(folder, `columns-${randomUUID()}`);
  const file = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  return file;
}
