import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { printable } from "../contract/errors/wording.ts";
import type { Reading } from "../outputs/open-document.ts";
import { writeReport } from "../report/write-report.ts";
import { addCommand } from "./command.ts";
import { OUTPUT_OPTION, OUTPUTS_ARGUMENT, outputLocations, readUntilSignal } from "./locations.ts";
import type { Reporter } from "./terminal/reporter.ts";

export function addReport(program: Command): void {
  addCommand(program, "report", {
    about: "write an HTML report of what the forecasts of an output are worth; several are compared",
    argument: OUTPUTS_ARGUMENT,
    options: {
      ...OUTPUT_OPTION,
      replay: ["--replay <location...>", "files with verdicts of mucast replay"],
      audit: ["--audit <location...>", "files with verdicts of mucast audit on the inputs"],
      out: ["--out <file>", "the HTML file; an existing file is replaced", { required: true }],
    },
    help: `
Examples:
  mucast report latest --out report.html
  mucast report ml_engine_42.json nn_engine_43.json --out both.html

The file loads nothing from the network and is readable without its script. With several outputs, it compares them side by side
on the rows that all of them have.
stdout carries its path as one JSON object. docs/report.md explains each chart.`,
    run: async (flags, words) => {
      const { replay: replays = [], audit: audits = [], out } = flags;
      const outputs = await outputLocations(words, flags);
      await readUntilSignal((reading) => writeReport({ outputs, replays, audits, out }, reading));
      process.stdout.write(`${JSON.stringify({ report: out })}\n`);
    },
  });
}

/** The path of the report that a job writes with its output: beside the output. */
export function reportPath(output: string): string {
  return output.replace(/\.json$/, ".html");
}

/**
 * Writes the report of a job's output, and its path to stderr.
 * @param outputUrl the file: URL of the output.
 */
export async function writeJobReport(
  outputUrl: string,
  reading: Reading & { readonly signal: AbortSignal },
  reporter: Reporter,
): Promise<void> {
  const output = fileURLToPath(outputUrl);
  const out = reportPath(output);
  await reporter.warnIfFails("the output was written, but its report was not", reading.signal, async () => {
    await writeReport({ outputs: [output], out }, reading);
    reporter.write({ level: "info", report: out }, printable(`report: ${out}`));
  });
}
