import type { Command } from "commander";
import { TRACKER_VARIABLES } from "../contract/tracker-url.ts";
import { exportForecasts } from "../export/export-forecasts.ts";
import { openTrackedOutput } from "../tracking/tracked-output.ts";
import { trackerOf, trackRun } from "../tracking/tracker.ts";
import { addCommand, refusal } from "./command.ts";
import { OUTPUT_OPTION, OUTPUTS_ARGUMENT, oneOutput, readUntilSignal } from "./locations.ts";

/** The name of standard output in place of a file. */
const TO_STDOUT = "-";

/** Milliseconds that the upload of an output may take. */
const MAX_TRACKING = 1_800_000;

export function addExport(program: Command): void {
  addCommand(program, "export", {
    about: "write the forecasts of an output as CSV or Parquet, one per row, or record it in MLflow",
    argument: OUTPUTS_ARGUMENT,
    options: {
      ...OUTPUT_OPTION,
      out: ["--out <file>", "a .csv or .parquet file, which is replaced, or - for CSV on stdout"],
      rawText: ["--raw-text", "CSV: write no apostrophe before tickers that begin with =, +, - or @"],
      mlflow: ["--mlflow", "record the output as a run of the MLflow server [env: MLFLOW_TRACKING_URI]"],
    },
    help: `
Examples:
  mucast export latest --out forecasts.parquet
  mucast export ml_engine_42.json --out forecasts.csv
  mucast export latest --out - | grep '^AAPL,'
  MLFLOW_TRACKING_URI=https://mlflow.example.com mucast export ml_engine_42.json --mlflow

The table has one row per forecast: ticker, date, part (out_of_fold or score), fold, predicted, lower, upper, realised. A missing
value is empty. With --mlflow, the output becomes a run of the MLflow server in MLFLOW_TRACKING_URI; a second export of the same
output finds its run. stdout carries the path and the number of rows, and the run, as one JSON object. docs/portfolio.md shows what
to do with the table, docs/tracking.md describes the run. With --out -, the table is on stdout and this object on stderr.`,
    run: async ({ out, rawText, mlflow, ...flags }, words) => {
      const output = await oneOutput(words, flags);
      const tracker = mlflow ? trackerOf(process.env) : undefined;
      if (mlflow && tracker === undefined) {
        const message = "is not set; --mlflow needs the URL of an MLflow server";
        throw refusal(TRACKER_VARIABLES.url, message);
      }
      if (out === undefined && tracker === undefined) {
        throw refusal("--out", "is missing; give a file, --mlflow, or both");
      }
      const done: Record<string, unknown> = {};
      await readUntilSignal(async (reading) => {
        if (out !== undefined) {
          const to = out === TO_STDOUT ? process.stdout : out;
          done.export = out;
          done.rows = await exportForecasts({ output, out: to, isRaw: rawText === true }, reading);
        }
        if (tracker !== undefined) {
          const tracked = await openTrackedOutput(output, reading);
          done.mlflow = await trackRun(tracked, tracker, reading.signal, { totalMs: MAX_TRACKING });
        }
      });
      const stream = out === TO_STDOUT ? process.stderr : process.stdout;
      stream.write(`${JSON.stringify(done)}\n`);
    },
  });
}
