import { inspect } from "node:util";
import { Command, CommanderError } from "commander";
import { withoutSignature } from "../blob/policy.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { MUCAST_VERSION } from "../contract/version.ts";
import { addDoctor } from "./doctor.ts";
import { explain } from "./explain.ts";
import { addKeys } from "./keys.ts";
import { addMcp } from "./mcp.ts";
import { addPrepare } from "./prepare.ts";
import { Reporter } from "./reporter.ts";
import { addRunDlJob } from "./run-dl-job.ts";
import { addRunMlJob } from "./run-ml-job.ts";
import { addSchema } from "./schema.ts";
import { addServe } from "./serve.ts";
import { addSetup } from "./setup.ts";
import { addValidate } from "./validate.ts";

const HELP = `
Example, from a price CSV to forecasts:
  mucast setup
  mucast prepare --prices prices.csv --out blobs --learning-end 2020-12-31
  mucast run_ml_job --feature-url blobs/data/feature_engine_ID.json \\
      --data-extractor-url blobs/data/data_extractor_ID.json --config '{"ML params": {"model": "lightgbm"}}'

Each command has a --help of its own.`;

const program = new Command("mucast")
  .description("Trains next-day return forecasts and leaves one blob that a portfolio optimizer reads.")
  .version(MUCAST_VERSION, "--version")
  .exitOverride()
  .configureOutput({ writeErr: (text) => process.stderr.write(withoutSignature(text)) })
  .showHelpAfterError("Run with --help for the flags.")
  .addHelpText("after", HELP);

for (const add of [
  addRunMlJob,
  addRunDlJob,
  addValidate,
  addPrepare,
  addServe,
  addMcp,
  addKeys,
  addSchema,
  addDoctor,
  addSetup,
])
  add(program);

// What cannot be told (a full disk, a reader that is gone) must not end the work that it is about.
process.stderr.on("error", () => undefined);

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
  // What was half opened, such as a damaged database, may hold the process for minutes, and its supervisor with it.
  if (process.argv[2] === "serve") process.exit();
}

function exitCodeOf(error: unknown): number {
  // Commander has said what is wrong; a wrong flag is an invalid request.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const { log, quiet } = program.commands.find((command) => command.name() === process.argv[2])?.opts() ?? {};
  const reporter = new Reporter({
    format: log === "json" ? "json" : "text",
    quiet: quiet === true,
    stream: process.stderr,
  });
  return explain(error instanceof Error ? error : new MucastError("internal", inspect(error)), reporter);
}
