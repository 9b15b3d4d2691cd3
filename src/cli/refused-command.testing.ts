import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { MucastError } from "../contract/errors/errors.ts";
import { createProgram } from "./commands.ts";
import { explain, Reporter } from "./terminal/reporter.ts";

/** Runs, in this process, a command that refuses its arguments before it reads a blob: the exit code of `mucast`, and its output. */
export async function refusedCommand(words: readonly string[]): Promise<{ code: number; said: string }> {
  const stream = new PassThrough();
  try {
    await createProgram().parseAsync(["node", "mucast", ...words]);
  } catch (error) {
    if (!(error instanceof MucastError)) throw error;
    const code = explain(error, new Reporter({ format: "text", quiet: false, stream }));
    return { code, said: String(stream.read()) };
  }
  return assert.fail("it was not refused");
}
