import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import { blobPolicy } from "../blob/policy.ts";
import { counted, printable } from "../contract/errors/wording.ts";
import { REPLAY_EXITS, type ReplayBlob } from "../contract/output/replay-blob.ts";
import { fromDifference } from "../replay/differences.ts";
import { replayOutput } from "../replay/replay.ts";
import {
  configText,
  jobResources,
  noticeOf,
  type ReportFlags,
  reporterOf,
  withEngineFlags,
  withReportFlags,
} from "./jobs/job-options.ts";
import { type OutputFlags, oneOutput, withOutputs } from "./outputs/output-arguments.ts";
import { table } from "./terminal/output-table.ts";
import { untilSignal } from "./terminal/signals.ts";

interface ReplayFlags extends ReportFlags, OutputFlags {
  readonly featureUrl?: string;
  readonly dataExtractorUrl?: string;
  readonly config?: string;
}

const HELP = `
Examples:
  mucast replay latest
  mucast replay ml_engine_42.json --feature-url data/feature_engine_1.json \\
      --data-extractor-url data/data_extractor_1.json

Without the flags for inputs, it reads the blobs at the recorded URLs, or else files with the recorded names beside the output.
The job runs in a temporary folder, which is removed. stdout carries the verdict as one JSON object; stderr shows it as text.
Exit codes: 0 identical, 6 differs, 7 cannot be replayed; errors have the exit codes of the jobs. See docs/audit.md.`;

export function addReplay(program: Command): void {
  const command = program
    .command("replay")
    .description("run the job of an output again and compare the bytes");
  withOutputs(command)
    .option("--feature-url <location>", "the feature blob, if it is no longer at its recorded location")
    .option(
      "--data-extractor-url <location>",
      "the data-extraction blob, if it is no longer at its recorded location",
    )
    .option(
      "--config <file|json>",
      "the job's config, for an output of an older version that did not record it",
    )
    .option("--portable", "pin the kernels (automatic if the output records that the job did)");
  withReportFlags(withEngineFlags(command))
    .addHelpText("after", HELP)
    .action(async (named: readonly string[], flags: ReplayFlags) => {
      const outputUrl = await oneOutput(named, flags);
      const resources = jobResources(flags, process.env);
      const reporter = reporterOf(flags, { workers: resources.workers });
      try {
        const request = {
          id: process.env.OPERATION_ID || randomUUID(),
          outputUrl,
          featureUrl: flags.featureUrl,
          dataExtractorUrl: flags.dataExtractorUrl,
          config: flags.config === undefined ? undefined : configText(flags.config),
          blobUrl: process.env.BLOB_URL,
        };
        const policy = blobPolicy(process.env);
        const verdict = await untilSignal((signal) =>
          replayOutput(request, {
            ...resources,
            notice: noticeOf(reporter),
            portable: flags.portable,
            policy,
            report: reporter.report,
            signal,
          }),
        );
        reporter.finish();
        process.stdout.write(`${JSON.stringify(verdict)}\n`);
        if (flags.log === "text") reporter.write({}, asText(verdict));
        process.exitCode = REPLAY_EXITS[verdict.verdict as keyof typeof REPLAY_EXITS];
      } finally {
        reporter.finish();
      }
    });
}

function asText(replay: ReplayBlob): string {
  const { verdict, reason, compared, differences, lacks, inputs, problem } = replay;
  const lines = [`${replay.output.url}: ${TITLES[verdict as keyof typeof TITLES]}`];
  if (compared !== undefined) {
    lines.push(`  ${counted(compared.numbers, "number")} compared, SHA-256 ${compared.sha256}`);
  }
  if (lacks.length > 0) lines.push(`  not recorded, so not compared: ${lacks.join(", ")}`);
  if (differences !== undefined) lines.push(...differenceLines(differences));
  for (const input of Object.values(inputs ?? {})) lines.push(...changeLines(input.url, input.change));
  if (reason !== undefined) lines.push(`  ${reason.code}: ${reason.message}`);
  if (problem !== undefined) lines.push(`  ${problem.code}: ${problem.detail}`);
  if (reason !== undefined) lines.push(`  ${reason.advice}`);
  return lines.map(printableLines).join("\n");
}

const TITLES = { identical: "identical", differs: "differs", cannot_replay: "cannot be replayed" };

function differenceLines({ first, largest, members }: NonNullable<ReplayBlob["differences"]>): string[] {
  const rows = [["first", first], ...(largest === null ? [] : [["largest", largest]])] as [
    string,
    typeof first,
  ][];
  const shown = rows.map(([name, { path, recorded, replayed }]) => [name, path, ...show(recorded, replayed)]);
  const counts = members.map(({ name, numbers, others, largest: most }) => [
    name,
    String(numbers),
    String(others),
    most === null ? "" : String(most),
  ]);
  return [
    table(["difference", "path", "recorded", "replayed"], shown),
    table(["member", "numbers", "others", "largest"], counts),
  ];
}

const MAX_LENGTH = 40;
const SHOWN_BEFORE = 10;

/** Both sides of a difference, each as a short text. */
function show(...sides: [recorded: unknown, replayed: unknown]): string[] {
  let [recorded, replayed] = sides.map((value) =>
    value === undefined ? "not there" : JSON.stringify(value),
  ) as [string, string];
  if (Math.max(recorded.length, replayed.length) > MAX_LENGTH)
    [recorded, replayed] = fromDifference(recorded, replayed, SHOWN_BEFORE);
  return [recorded, replayed].map((text) =>
    text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text,
  );
}

type Change = NonNullable<NonNullable<ReplayBlob["inputs"]>["feature"]["change"]>;

function changeLines(url: string, change: Change | undefined): string[] {
  if (change === undefined) return [];
  const { values, tickers, dates } = change;
  const whose = tickers.count === 0 ? "" : ` of ${tickers.first.join(", ")}`;
  return [`  ${url}: ${counted(values, "value")}${whose} changed${datesText(dates)}`];
}

function datesText(dates: Change["dates"]): string {
  if (dates === null) return "";
  if (dates.count === 1) return ` on ${dates.first}`;
  return `, on ${dates.count} dates from ${dates.first} to ${dates.last}`;
}

function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}
