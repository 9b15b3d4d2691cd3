import type { Command } from "commander";
import { printable } from "../contract/errors/wording.ts";
import { smallFactorOf } from "../contract/output/small-factor.ts";
import { openDocument, type Reading } from "../outputs/open-document.ts";
import type { OutputSummary } from "../outputs/output-summary.ts";
import { hitRateErrorOf } from "../report/statistics/over-dates.ts";
import { addCommand } from "./command.ts";
import { OUTPUT_OPTION, OUTPUTS_ARGUMENT, outputLocations, readUntilSignal } from "./locations.ts";
import { candidateTable } from "./terminal/candidate-table.ts";
import { outputNames } from "./terminal/output-names.ts";
import { judgedTable, outputTable } from "./terminal/output-table.ts";

export function addShow(program: Command): void {
  addCommand(program, "show", {
    about: "print a table of what the forecasts of outputs are worth",
    argument: OUTPUTS_ARGUMENT,
    options: OUTPUT_OPTION,
    help: `
Examples:
  mucast show latest
  mucast show blobs
  mucast show ml_engine_42.json nn_engine_43.json

A folder stands for its newest output; latest is the newest one in the folder of BLOB_URL, or in the current folder
and its folders data and forecasts/data if BLOB_URL is not set.

stdout carries the table. A job that runs on a terminal also shows it on stderr, unless --quiet is set. For charts, use mucast report.`,
    run: async (flags, words) => {
      const locations = await outputLocations(words, flags);
      process.stdout.write(await readUntilSignal((reading) => tableOf(locations, reading)));
    },
  });
}

/**
 * The table of stored outputs.
 * @param locations paths, or file:, https: or s3: URLs.
 * @throws MucastError of reading one.
 */
export async function tableOf(locations: readonly string[], reading: Reading): Promise<string> {
  const shown: { readonly output: OutputSummary; readonly hitRateError: number | null }[] = [];
  // One at a time: a document may need much memory while it is read.
  for (const location of locations) {
    const { document: output, rows, outOfFold = [] } = await openDocument(location, reading);
    const judged = judgedTable(output.metrics) === "score" ? rows : outOfFold;
    shown.push({ output, hitRateError: hitRateErrorOf(judged) });
  }
  const names = outputNames(shown.map(({ output }) => output)).map(printable);
  const columns = shown.map((each, i) => ({ ...each, name: names[i]!, verdict: each.output.verdict }));
  const small = columns.flatMap(({ name, output }) => {
    const why = smallFactorOf(output);
    return why === undefined ? [] : [`\n${name}: ${why}\n`];
  });
  const choices = columns.flatMap(({ name, output: { choice } }) =>
    choice === undefined ? [] : [`\n${name}, chosen among candidates:\n${candidateTable(choice)}\n`],
  );
  return [`${outputTable(columns)}\n`, ...small, ...choices].join("");
}
