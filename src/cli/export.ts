import type { Command } from "commander";
import { blobPolicy } from "../blob/policy.ts";
import { invalidRequest } from "../contract/errors/faults.ts";
import { TRACKER_VARIABLES } from "../contract/tracker-url.ts";
import { exportForecasts } from "../export/export-forecasts.ts";
import type { Reading } from "../outputs/open-document.ts";
import { openTrackedOutput } from "../tracking/tracked-output.ts";
import { type TrackedRun, type Tracker, trackerOf, trackRun } from "../tracking/tracker.ts";
import { nameFound, type OutputFlags, oneOutput, withOutputs } from "./outputs/output-arguments.ts";
import { untilSignal } from "./terminal/signals.ts";

interface ExportFlags extends OutputFlags {
  readonly out?: string;
  readonly rawText?: boolean;
  readonly mlflow?: boolean;
}

/** The name of standard output in place of a file. */
const TO_STDOUT = "-";

/** Milliseconds that the upload of an output may take. */
const MAX_TRACKING = 1_800_000;

const HELP = `
Examples:
  mucast export latest --out forecasts.parquet
  mucast export ml_engine_42.json --out forecasts.csv
  mucast export latest --out - | grep '^AAPL,'
  MLFLOW_TRACKING_URI=https://mlflow.example.com mucast export ml_engine_42.json --mlflow

The table has one row per forecast: ticker, date, part (out_of_fold or score), fold, predicted, lower, upper, realised. A missing
value is empty. With --mlflow, the output becomes a run of the MLflow server in MLFLOW_TRACKING_URI; a second export of the same
output finds its run. stdout carries the path and the number of rows, and the run, as one JSON object. docs/output.md shows what
to do with the table, docs/deploying.md describes the run. With --out -, the table is on stdout and this object on stderr.`;

export function addExport(program: Command): void {
  const command = program
    .command("export")
    .description("write the forecasts of an output as CSV or Parquet, one per row, or record it in MLflow");
  withOutputs(command)
    .option(
      "--out <file>",
      "a file ending in .csv or .parquet, or - for CSV on stdout; an existing file is replaced",
    )
    .option("--raw-text", "CSV: keep tickers that begin with =, +, - or @ as they are, without an apostrophe")
    .option("--mlflow", "record the output as a run of the MLflow server [env: MLFLOW_TRACKING_URI]")
    .addHelpText("after", HELP)
    .action(async (named: readonly string[], flags: ExportFlags) => {
      const { out, mlflow, rawText: isRaw = false } = flags;
      const output = await oneOutput(named, flags);
      nameFound(named, flags, [output]);
      const tracker = mlflow ? requiredTracker() : undefined;
      if (out === undefined && tracker === undefined) {
        throw invalidRequest([{ path: "--out", message: "is missing; give a file, --mlflow, or both" }]);
      }
      const reading = { policy: blobPolicy(process.env), blobUrl: process.env.BLOB_URL };
      const done = await untilSignal(async (signal) => ({
        ...(await tableOf(output, out, isRaw, { ...reading, signal })),
        ...(tracker === undefined ? {} : { mlflow: await runOf(output, tracker, { ...reading, signal }) }),
      }));
      const stream = out === TO_STDOUT ? process.stderr : process.stdout;
      stream.write(`${JSON.stringify(done)}\n`);
    });
}

function requiredTracker(): Tracker {
  const tracker = trackerOf(process.env);
  if (tracker !== undefined) return tracker;
  const message = "is not set; --mlflow needs the URL of an MLflow server";
  throw invalidRequest([{ path: TRACKER_VARIABLES.url, message }]);
}

async function tableOf(output: string, out: string | undefined, isRaw: boolean, reading: Reading) {
  if (out === undefined) return {};
  const to = out === TO_STDOUT ? process.stdout : out;
  const rows = await exportForecasts({ output, out: to, isRaw }, reading);
  return { export: out, rows };
}

async function runOf(
  output: string,
  tracker: Tracker,
  reading: Reading & { readonly signal: AbortSignal },
): Promise<TrackedRun> {
  const tracked = await openTrackedOutput(output, reading);
  return trackRun(tracked, tracker, reading.signal, { totalMs: MAX_TRACKING });
}
