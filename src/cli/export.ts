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

One row a forecast: ticker, date, part (out_of_fold or score), fold, predicted, lower, upper, realised. What a row does not have is empty.
stdout carries the path and the number of rows as one JSON object. docs/portfolio.md goes on from there.`;

export function addExport(program: Command): void {
  program
    .command("export")
    .description("write the forecasts of an output as a table, one row each")
    .requiredOption("--output <location>", "the output of a job: a path, file: URL or https URL")
    .requiredOption("--out <file>", "a file that ends with .csv or .parquet; one that is there is replaced")
    .addHelpText("after", HELP)
    .action(async ({ output, out }: ExportFlags) => {
      const reading = { policy: blobPolicy(process.env), blobUrl: process.env.BLOB_URL };
      const rows = await untilSignal((signal) => exportForecasts({ output, out }, { ...reading, signal }));
      process.stdout.write(`${JSON.stringify({ export: out, rows })}\n`);
    });
}
