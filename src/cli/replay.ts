import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import { blobPolicy } from "../blob/policy.ts";
import { counted, printable } from "../contract/errors/wording.ts";
import { REPLAY_EXITS, type ReplayBlob } from "../contract/output/replay-blob.ts";
import { fromDifference } from "../replay/differences.ts";
import { replayOutput } from "../replay/replay.ts";
import { addCommand, ENGINE_OPTIONS, type FlagsOf, REPORT_OPTIONS } from "./command.ts";
import { configText, jobResources, withReporter } from "./job-inputs.ts";
import { inputLocations, OUTPUT_OPTION, OUTPUTS_ARGUMENT, oneOutput } from "./locations.ts";
import { table } from "./terminal/output-table.ts";

const OPTIONS = {
  ...OUTPUT_OPTION,
  feature_url: ["--feature-url <location>", "feature blob, or a folder, if it has moved"],
  data_extractor_url: ["--data-extractor-url <location>", "data-extraction blob, likewise"],
  config: ["--config <file|json>", "the job's config, if the output does not record it"],
  portable: ["--portable", "pin the kernels (automatic if the output records that the job did)"],
  ...ENGINE_OPTIONS,
  ...REPORT_OPTIONS,
} as const;

export function addReplay(program: Command): void {
  addCommand(program, "replay", {
    about: "run the job of an output again and compare the bytes",
    argument: OUTPUTS_ARGUMENT,
    options: OPTIONS,
    help: `
Examples:
  mucast replay latest
  mucast replay ml_engine_42.json --feature-url data/feature_engine_1.json \\
      --data-extractor-url data/data_extractor_1.json

Without the flags for inputs, it reads the blobs at the recorded URLs, or else files with the recorded names beside the output.
The job runs in a temporary folder, which is removed. stdout carries the verdict as one JSON object; stderr shows it as text.
Exit codes: 0 identical, 6 differs, 7 cannot be replayed; errors have the exit codes of the jobs. See docs/audit.md.`,
    run: replay,
  });
}

async function replay(flags: FlagsOf<typeof OPTIONS>, words: readonly string[]): Promise<void> {
  const outputUrl = await oneOutput(words, flags);
  const resources = jobResources(flags);
  await withReporter(flags, { workers: resources.workers }, async (reporter, running) => {
    const { features, prices } = await inputLocations(flags.feature_url, flags.data_extractor_url);
    const request = {
      id: process.env.OPERATION_ID || randomUUID(),
      outputUrl,
      featureUrl: features,
      dataExtractorUrl: prices,
      config: flags.config === undefined ? undefined : await configText(flags.config),
      blobUrl: process.env.BLOB_URL,
    };
    const context = { ...resources, ...running, portable: flags.portable, policy: blobPolicy(process.env) };
    const verdict = await replayOutput(request, context);
    reporter.finish();
    process.stdout.write(`${JSON.stringify(verdict)}\n`);
    if (flags.log === "text") reporter.write({}, asText(verdict));
    process.exitCode = REPLAY_EXITS[verdict.verdict as keyof typeof REPLAY_EXITS];
  });
}

const TITLES = { identical: "identical", differs: "differs", cannot_replay: "cannot be replayed" };

function asText(replayed: ReplayBlob): string {
  const { output, verdict, reason, compared, differences, lacks, inputs, problem } = replayed;
  const lines = [`${output.url}: ${TITLES[verdict as keyof typeof TITLES]}`];
  if (compared !== undefined) {
    lines.push(`  ${counted(compared.numbers, "number")} compared, SHA-256 ${compared.sha256}`);
  }
  if (lacks.length > 0) lines.push(`  not recorded, so not compared: ${lacks.join(", ")}`);
  if (differences !== undefined) lines.push(...differenceTables(differences));
  for (const { url, change } of Object.values(inputs ?? {})) {
    if (change === undefined) continue;
    const { values, tickers, dates } = change;
    const whose = tickers.count === 0 ? "" : ` of ${tickers.first.join(", ")}`;
    let when = "";
    if (dates?.count === 1) when = ` on ${dates.first}`;
    else if (dates !== null) when = `, on ${dates.count} dates from ${dates.first} to ${dates.last}`;
    lines.push(`  ${url}: ${counted(values, "value")}${whose} changed${when}`);
  }
  if (reason !== undefined) lines.push(`  ${reason.code}: ${reason.message}`);
  if (problem !== undefined) lines.push(`  ${problem.code}: ${problem.detail}`);
  if (reason !== undefined) lines.push(`  ${reason.advice}`);
  return lines.flatMap((text) => text.split("\n").map(printable)).join("\n");
}

function differenceTables({ first, largest, members }: NonNullable<ReplayBlob["differences"]>): string[] {
  const places = [
    { name: "first", ...first },
    ...(largest === null ? [] : [{ name: "largest", ...largest }]),
  ];
  const shown = places.map(({ name, path, recorded, replayed }) => [name, path, ...show(recorded, replayed)]);
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
