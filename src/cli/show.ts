import type { Command } from "commander";
import { blobPolicy } from "../blob/policy.ts";
import { printable } from "../contract/errors/wording.ts";
import { smallFactorOf } from "../contract/output/small-factor.ts";
import { problemOf } from "../contract/problems/problem.ts";
import { openDocument, type Reading } from "../outputs/open-document.ts";
import { modelNameOf, type OutputSummary } from "../outputs/output-summary.ts";
import { hitRateErrorOf } from "../report/statistics/over-dates.ts";
import { type OutputFlags, outputLocations, withOutputs } from "./outputs/output-arguments.ts";
import { candidateTable } from "./terminal/candidate-table.ts";
import { judgedTable, type OutputColumn, outputTable } from "./terminal/output-table.ts";
import type { Reporter } from "./terminal/reporter.ts";
import { untilSignal } from "./terminal/signals.ts";

const HELP = `
Examples:
  mucast show latest
  mucast show blobs
  mucast show ml_engine_42.json nn_engine_43.json

A folder stands for its newest output; latest is the newest one in the folder of BLOB_URL, or in the current folder
and its folder data if BLOB_URL is not set.

stdout carries the table. A job that runs on a terminal also shows it on stderr, unless --quiet is set. For charts, use mucast report.`;

export function addShow(program: Command): void {
  const command = program
    .command("show")
    .description("print a table of what the forecasts of outputs are worth");
  withOutputs(command)
    .addHelpText("after", HELP)
    .action(async (named: readonly string[], flags: OutputFlags) => {
      const locations = await outputLocations(named, flags);
      const reading = { policy: blobPolicy(process.env), blobUrl: process.env.BLOB_URL };
      process.stdout.write(await untilSignal((signal) => tableOf(locations, { ...reading, signal })));
    });
}

/**
 * Writes the table of a job's output to the terminal. The job has already succeeded: if there is no table, a warning says why.
 * @throws what the signal throws.
 */
export async function showJob(outputUrl: string, reading: Reading, reporter: Reporter): Promise<void> {
  try {
    process.stderr.write(await tableOf([outputUrl], reading));
  } catch (error) {
    reading.signal?.throwIfAborted();
    const { code, detail } = problemOf(error);
    reporter.write({ level: "warning", code, message: detail }, printable(`no table: ${code}: ${detail}`));
  }
}

/**
 * The table of stored outputs.
 * @param locations paths, or file:, https: or s3: URLs.
 * @throws MucastError of reading one.
 */
export async function tableOf(locations: readonly string[], reading: Reading): Promise<string> {
  const shown: (OutputColumn & { readonly output: OutputSummary })[] = [];
  // One at a time: a document may need much memory while it is read.
  for (const location of locations) {
    const output = await openDocument(location, reading);
    const name = printable(modelNameOf(output.document));
    const judged = judgedTable(output.document.metrics);
    const hitRateError = hitRateErrorOf(judged === "score" ? output.rows : (output.outOfFold ?? []));
    shown.push({ name, output: output.document, hitRateError, verdict: output.document.verdict });
  }
  const choices = shown.flatMap(({ name, output: { choice } }) =>
    choice === undefined ? [] : [`\n${name}, chosen among candidates:\n${candidateTable(choice)}\n`],
  );
  const small = shown.flatMap(({ name, output }) => {
    const why = smallFactorOf(output);
    return why === undefined ? [] : [`\n${name}: ${why}\n`];
  });
  return [`${outputTable(shown)}\n`, ...small, ...choices].join("");
}
