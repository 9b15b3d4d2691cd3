import type { Command } from "commander";
import { blobPolicy } from "../blob/policy.ts";
import { exportForecasts } from "../export/export-forecasts.ts";
import { untilSignal } from "./terminal/signals.ts";

interface ExportFlags {
  readonly output: string;
  readonly out: string;
}

const HELP = `
Examples:
  mucast export --output out/data/ml_engine_42.json --out forecasts.parquet
  mucast export --output ml_engine_42.json --out forecasts.csv

The table has one row per forecast: ticker, date, part (out_of_fold or score), fold, predicted, lower, upper, realised. A missing
value is empty. stdout carries the path and the number of rows as one JSON object. docs/portfolio.md shows what to do next.`;

export function addExport(program: Command): void {
  program
    .command("export")
    .description("write the forecasts of an output as CSV or Parquet, one per row")
    .requiredOption("--output <location>", "the output of a job: a path, or a file:, https: or s3: URL")
    .requiredOption("--out <file>", "a file ending in .csv or .parquet; an existing file is replaced")
    .addHelpText("after", HELP)
    .action(async ({ output, out }: ExportFlags) => {
      const reading = { policy: blobPolicy(process.env), blobUrl: process.env.BLOB_URL };
      const rows = await untilSignal((signal) => exportForecasts({ output, out }, { ...reading, signal }));
      process.stdout.write(`${JSON.stringify({ export: out, rows })}\n`);
    });
}
