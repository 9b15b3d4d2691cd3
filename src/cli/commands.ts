import { Command } from "commander";
import { withoutSignature } from "../blob/policy.ts";
import { MUCAST_BUILD_TEXT } from "../contract/version.ts";
import { addAudit } from "./audit.ts";
import { addDb } from "./db.ts";
import { addDoctor, addSetup } from "./environments.ts";
import { addForecast } from "./forecast.ts";
import { addKeys } from "./keys.ts";
import { addMcp } from "./mcp.ts";
import { addChoose, addExport, addList, addReport, addShow } from "./output-commands.ts";
import { addPrepare } from "./prepare.ts";
import { addCompletion, addPrintedFiles } from "./printed-files.ts";
import { addReplay } from "./replay.ts";
import { addJobs } from "./run-job.ts";
import { addServe } from "./serve.ts";
import { addValidate } from "./validate.ts";

/** All commands, in the order of the help. README.md has a row for each; a test checks that. */
const COMMANDS = [
  addForecast,
  addJobs,
  addValidate,
  addAudit,
  addReplay,
  addReport,
  addList,
  addShow,
  addChoose,
  addExport,
  addPrepare,
  addServe,
  addMcp,
  addKeys,
  addDb,
  addPrintedFiles,
  addDoctor,
  addSetup,
  addCompletion,
];

/** The program `mucast` with all its commands; parse arguments with it once. */
export function createProgram(): Command {
  const program = new Command("mucast")
    .description("Trains next-day return forecasts and writes one blob for a portfolio optimizer.")
    .version(`mucast ${MUCAST_BUILD_TEXT}`, "-v, --version")
    .exitOverride()
    .configureOutput({
      writeOut: printHelp,
      writeErr: (text) => process.stderr.write(withoutSignature(text)),
    })
    .showHelpAfterError("Run with --help to see the flags.")
    .addHelpText("after", HELP);
  for (const add of COMMANDS) add(program);
  return program;
}

/** Prints the help or the version of any command. A reader that stops early, as `head` does, is no error. */
function printHelp(text: string): void {
  process.stdout.prependListener("error", ({ code }: NodeJS.ErrnoException) => {
    if (code === "EPIPE") process.exit();
  });
  process.stdout.write(text);
}

const HELP = `
Example, from a price CSV to forecasts:
  mucast setup
  mucast prepare --prices prices.csv --out blobs --learning-end 2020-12-31
  mucast run_ml_job --feature-url blobs --config ridge

Each command has its own --help.`;
