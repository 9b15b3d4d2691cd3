import "../contract/machine/without-maglev.ts";
import { CommanderError } from "commander";
import { MucastError } from "../contract/errors/errors.ts";
import { causeOf } from "../contract/errors/system-error.ts";
import { createProgram } from "./commands.ts";
import { explain, Reporter } from "./terminal/reporter.ts";
import { canceledExitCode } from "./terminal/signals.ts";

const program = createProgram();

// A line that cannot be written (a full disk, a reader that is gone) must not end the work that it reports.
process.stderr.on("error", () => undefined);

const command = process.argv[2] ?? "";

/** Commands that only read; those who read them in turn often stop early, as `head` does. */
const READERS = ["choose", "completion", "examples", "export", "list", "schema", "show"];

// The stdout of these is not a result: serve continues without it, and mcp ends with its client.
if (!["serve", "mcp"].includes(command)) {
  process.stdout.on("error", (cause: NodeJS.ErrnoException) => {
    if (cause.code === "EPIPE" && READERS.includes(command)) process.exit();
    const reason = `stdout could not be written: ${causeOf(cause)}; files that were already written remain`;
    process.exitCode = exitCodeOf(new MucastError("output_failed", reason, {}, { cause }));
  });
}

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
  // A half-opened resource, such as a damaged database, may keep the process alive for minutes, and its supervisor waiting.
  if (command === "serve") process.exit();
}

function exitCodeOf(error: unknown): number {
  // Commander has already printed what is wrong; a wrong flag is an invalid request.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const { log, quiet } = program.commands.find((known) => known.name() === command)?.opts() ?? {};
  const reporter = new Reporter({
    format: log === "json" ? "json" : "text",
    quiet: quiet === true,
    stream: process.stderr,
  });
  const code = explain(error, reporter);
  return error instanceof MucastError && error.code === "canceled" ? canceledExitCode() : code;
}
