import type { Command } from "commander";
import { blobPolicy } from "../blob/policy.ts";
import { writeReport } from "../report/write-report.ts";
import { addRequiredOption } from "./arguments/required-option.ts";
import { nameFound, type OutputFlags, outputLocations, withOutputs } from "./outputs/output-arguments.ts";
import { untilSignal } from "./terminal/signals.ts";

interface ReportFlags extends OutputFlags {
  readonly replay?: readonly string[];
  readonly audit?: readonly string[];
  readonly out: string;
}

const HELP = `
Examples:
  mucast report latest --out report.html
  mucast report ml_engine_42.json nn_engine_43.json --out both.html

The file loads nothing from the network and is readable without its script. With several outputs, it compares them side by side
on the rows that all of them have.
stdout carries its path as one JSON object. docs/report.md explains each chart.`;

export function addReport(program: Command): void {
  const command = program
    .command("report")
    .description("write an HTML report of what the forecasts of an output are worth; several are compared");
  const withFiles = withOutputs(command)
    .option("--replay <location...>", "files with the verdicts that mucast replay printed for the outputs")
    .option(
      "--audit <location...>",
      "files with the verdicts that mucast audit printed for the blobs and configs of the outputs",
    );
  addRequiredOption(withFiles, "--out <file>", "the HTML file; an existing file is replaced")
    .addHelpText("after", HELP)
    .action(async (named: readonly string[], flags: ReportFlags) => {
      const { replay = [], audit = [], out } = flags;
      const reading = { policy: blobPolicy(process.env), blobUrl: process.env.BLOB_URL };
      const outputs = await outputLocations(named, flags);
      nameFound(named, flags, outputs);
      const request = { outputs, replays: replay, audits: audit, out };
      await untilSignal((signal) => writeReport(request, { ...reading, signal }));
      process.stdout.write(`${JSON.stringify({ report: out })}\n`);
    });
}
