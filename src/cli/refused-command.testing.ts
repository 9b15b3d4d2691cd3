import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { MucastError } from "../contract/errors/errors.ts";
import { createProgram } from "./commands.ts";
import { explain, Reporter } from "./terminal/reporter.ts";

/** A command that refuses its words before it reads a blob, in this process: the exit code of `mucast`, and what it says. */
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
