import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { type CandidateOutput, candidateOf, chooseOutputs } from "../choose/choose-outputs.ts";
import { CHOICE_MEASURES, CHOICE_RULES } from "../contract/config/choice-config.ts";
import { LIMITS } from "../contract/config/limits.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { show } from "../contract/errors/faults.ts";
import { counted, printable } from "../contract/errors/wording.ts";
import { CHOSEN_ROWS, type ChosenOutputs } from "../contract/output/choice.ts";
import { smallFactorOf } from "../contract/output/small-factor.ts";
import { problemOf } from "../contract/problems/problem.ts";
import { TRACKER_VARIABLES } from "../contract/tracker-url.ts";
import { exportForecasts } from "../export/export-forecasts.ts";
import { type FoundOutput, findOutputs } from "../outputs/find-outputs.ts";
import { openDocument, openSummary, type Reading } from "../outputs/open-document.ts";
import { modelNameOf, type OutputSummary } from "../outputs/output-summary.ts";
import { hitRateErrorOf } from "../report/statistics/over-dates.ts";
import { writeReport } from "../report/write-report.ts";
import { openTrackedOutput } from "../tracking/tracked-output.ts";
import { trackerOf, trackRun } from "../tracking/tracker.ts";
import { addCommand, refusal } from "./command.ts";
import {
  OUTPUT_OPTION,
  OUTPUTS_ARGUMENT,
  oneOutput,
  outputFolder,
  outputLocations,
  readUntilSignal,
} from "./locations.ts";
import { candidateTable } from "./terminal/candidate-table.ts";
import { outputNames } from "./terminal/output-names.ts";
import { judgedTable, outputTable, table } from "./terminal/output-table.ts";
import type { Reporter } from "./terminal/reporter.ts";

/** Characters of a cell; a problem or a path may be long. */
const MAX_CELL = 120;

export function addList(program: Command): void {
  addCommand(program, "list", {
    about: "list the outputs in a folder, newest first",
    argument: ["[folder]", "the folder of the blobs"],
    options: {
      limit: ["--limit <n>", "the number of outputs to list", { default: "20" }],
      json: ["--json", "print JSON"],
    },
    help: `
Examples:
  mucast list blobs
  mucast list --limit 5 --json
  mucast show latest

It looks for ml_engine_*.json and nn_engine_*.json in the folder, its data and the data of its subfolders, such as blobs/data.
Without a folder, it uses the folder in BLOB_URL, or the current one.`,
    run: async ({ limit, json }, folder = outputFolder()) => {
      if (!/^[1-9]\d{0,8}$/.test(limit))
        throw refusal("--limit", `must be a positive integer, got ${show(limit)}`);
      const found = await findOutputs(folder);
      const listed = await readUntilSignal(async (reading) => {
        const outputs: Listed[] = [];
        // One at a time: a document may need much memory while it is read.
        for (const each of found.slice(0, Number(limit))) outputs.push(await readListed(each, reading));
        return outputs;
      });
      const records = listed.map(({ path, writtenAt, document, problem = null }) => ({
        path,
        created_at: document?.created_at ?? new Date(writtenAt).toISOString(),
        operation: document?.operation ?? null,
        model: document ? modelNameOf(document) : null,
        tags: document?.tags ?? [],
        as_of: document?.window.as_of ?? null,
        tickers: document ? Object.keys(document.mu).length : null,
        verdict: document?.verdict?.title ?? null,
        problem,
      }));
      const names = outputNames(listed.flatMap(({ document }) => document ?? [])).values();
      const rows = records.map((record) => {
        const { path, created_at, operation, model, as_of, tickers, verdict, problem } = record;
        const name = model && names.next().value;
        const cells = [operation, name, as_of, tickers, problem ?? verdict].map((cell) => cell ?? "-");
        return [path, created_at.slice(0, 16).replace("T", " "), ...cells].map((cell) =>
          printable(String(cell)).slice(0, MAX_CELL),
        );
      });
      const more = found.length - listed.length;
      const older = more > 0 ? `${counted(more, "older output")}; --limit shows more.\n` : "";
      const none = "There is no output here; name another folder.\n";
      const text = rows.length === 0 ? none : `${table(HEADER, rows)}\n${older}`;
      process.stdout.write(json ? `${JSON.stringify(records, null, 2)}\n` : text);
    },
  });
}

const HEADER = ["output", "created", "job", "model", "as of", "tickers", "verdict"];

interface Listed extends FoundOutput {
  /** Undefined if it is unreadable. */
  readonly document?: OutputSummary;
  /** Why it is unreadable. */
  readonly problem?: string;
}

async function readListed(found: FoundOutput, reading: Reading): Promise<Listed> {
  try {
    return { ...found, document: await openSummary(found.path, reading) };
  } catch (error) {
    reading.signal?.throwIfAborted();
    const { code, detail } = problemOf(error);
    return { ...found, problem: `${code}: ${detail}` };
  }
}

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

A folder stands for its newest output; latest is the newest one of mucast list, in the folder of BLOB_URL or,
if that is not set, in the current one.

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

export function addChoose(program: Command): void {
  addCommand(program, "choose", {
    about: "choose among the forecasts of finished outputs, and show what choosing was worth",
    argument: ["[outputs...]", "outputs of jobs on the same prices: paths, or file:, https: or s3: URLs"],
    options: {
      ...OUTPUT_OPTION,
      rows: ["--rows <rows>", "the forecasts to compare", { choices: CHOSEN_ROWS, default: "out_of_fold" }],
      rule: [
        "--rule <rule>",
        "the mean of those near the best, or the best alone",
        { choices: CHOICE_RULES, default: "mean" },
      ],
      measure: [
        "--measure <measure>",
        "compare squared errors, or the order of the tickers",
        { choices: CHOICE_MEASURES, default: "squared_error" },
      ],
      json: ["--json", "print JSON, with the members of every date and the series of losses"],
    },
    help: `
Examples:
  mucast choose ml_engine_41.json ml_engine_42.json ml_engine_43.json
  mucast choose ml_engine_42.json nn_engine_43.json --rows score

The first output is candidate 0. For each fold, the choice looks only at returns that were known when the fold began, so the line
"chosen in advance" shows what choosing was worth. Outputs of networks have no out-of-fold rows; compare them by --rows score.
docs/config.md explains the figures.`,
    run: async ({ json, ...flags }, words) => {
      const locations = await outputLocations(words, flags);
      if (locations.length < 2 || locations.length > LIMITS.candidates) {
        const message = `${counted(locations.length, "output")} ${locations.length === 1 ? "is" : "are"} named; name 2 to ${LIMITS.candidates}`;
        throw new MucastError("invalid_request", message, { path: "outputs", value: locations.length });
      }
      const outputs: CandidateOutput[] = [];
      await readUntilSignal(async (reading) => {
        // One at a time: a document may need much memory while it is read.
        for (const location of locations)
          outputs.push(candidateOf(await openDocument(location, reading), flags));
      });
      const chosen = chooseOutputs(outputs, flags);
      process.stdout.write(json ? `${JSON.stringify(chosen, null, 2)}\n` : choiceText(chosen));
    },
  });
}

const MAX_CHANGES = 20;

function choiceText(chosen: ChosenOutputs): string {
  const { changes, members, rows, optimism, measure } = chosen;
  const { dates, gains } = chosen.losses;
  const named = rows === "score" ? "score rows" : "out-of-fold rows";
  let compared = `No ${named} of these outputs can be compared.`;
  if (dates.length > 0) {
    // Score rows of different cuts have different dates.
    const span = `from ${dates[0]} to ${dates.at(-1)} (${counted(dates.length, "date")})`;
    compared = `Compared on the ${named} whose returns are known ${span}.`;
  }
  const judged = gains?.filter((gain) => gain !== null).length ?? dates.length;
  const early = dates.length - judged;
  if (early > 0) {
    const others = early === 1 ? "one only chooses" : `the other ${early} only choose`;
    compared += ` Figures are over ${judged.toLocaleString("en-US")} of these dates; ${others}.`;
  }
  const last = changes.slice(-MAX_CHANGES).map(({ date, members: own }) => [date, own.join(", ")]);
  last.push(["at the end", members.join(", ")]);
  const lines = [compared, "", candidateTable(chosen, "--json lists all"), ""];
  lines.push(table(["members from", "candidates"], last));
  const earlier = changes.length - MAX_CHANGES;
  if (earlier > 0) lines.push(`${earlier} earlier changes; --json lists all.`);
  const claim = measure === "ic" ? "a mean IC" : "an R²";
  const amount = measure === "ic" ? optimism?.toFixed(4) : `${(100 * (optimism ?? 0)).toFixed(2)} %`;
  let worth = "No fold begins after 30 label dates are known, so nothing shows what choosing was worth.";
  if (optimism !== null && optimism > 0)
    worth = `Picking the best afterwards would claim ${claim} that is ${amount} too high.`;
  else if (optimism !== null)
    worth = `The forecasts chosen in advance have ${claim} at least as high as the best candidate.`;
  return [...lines, "", worth, ""].join("\n");
}

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
output finds its run. stdout carries the path and the number of rows, and the run, as one JSON object. docs/output.md shows what
to do with the table, docs/deploying.md describes the run. With --out -, the table is on stdout and this object on stderr.`,
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
