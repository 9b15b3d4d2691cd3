import type { Command } from "commander";
import { blobPolicy } from "../../blob/policy.ts";
import { invalidRequest } from "../../contract/errors/faults.ts";
import { counted, printable } from "../../contract/errors/wording.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import { type FoundOutput, findOutputs } from "../../outputs/find-outputs.ts";
import { openSummary, type Reading } from "../../outputs/open-document.ts";
import { modelNameOf } from "../../outputs/output-summary.ts";
import { table } from "../terminal/output-table.ts";
import { untilSignal } from "../terminal/signals.ts";
import { outputFolder } from "./output-arguments.ts";

const HELP = `
Examples:
  mucast list blobs
  mucast list --limit 5 --json
  mucast show latest

It looks for ml_engine_*.json and nn_engine_*.json in the folder and in its folder data. Without a folder, it uses the folder in
BLOB_URL, or the current one.`;

const DEFAULT_LIMIT = 20;

interface ListedOutput {
  readonly path: string;
  /** Of the job, or of the file if it is unreadable; ISO 8601. */
  readonly created_at: string;
  readonly operation: string | null;
  readonly model: string | null;
  readonly as_of: string | null;
  readonly tickers: number | null;
  readonly verdict: string | null;
  /** Why it is unreadable. */
  readonly problem: string | null;
}

export function addList(program: Command): void {
  program
    .command("list")
    .description("list the outputs in a folder, newest first")
    .argument("[folder]", "the folder of the blobs")
    .option("--limit <n>", "the number of outputs to list", String(DEFAULT_LIMIT))
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(
      async (folder: string | undefined, flags: { readonly limit: string; readonly json?: boolean }) => {
        const found = await findOutputs(folder ?? outputFolder());
        const shown = found.slice(0, limitOf(flags.limit));
        const reading = { policy: blobPolicy(process.env) };
        const outputs = await untilSignal((signal) => readAll(shown, { ...reading, signal }));
        process.stdout.write(
          flags.json ? `${JSON.stringify(outputs, null, 2)}\n` : listText(outputs, found.length),
        );
      },
    );
}

function limitOf(text: string): number {
  const limit = Number(text);
  if (Number.isSafeInteger(limit) && limit > 0) return limit;
  throw invalidRequest([{ path: "--limit", message: `is ${JSON.stringify(text)}; give a positive integer` }]);
}

async function readAll(found: readonly FoundOutput[], reading: Reading): Promise<ListedOutput[]> {
  const outputs: ListedOutput[] = [];
  // One at a time: a document may need much memory while it is read.
  for (const each of found) outputs.push(await listed(each, reading));
  return outputs;
}

async function listed({ path, writtenAt }: FoundOutput, reading: Reading): Promise<ListedOutput> {
  try {
    const document = await openSummary(path, reading);
    return {
      path,
      created_at: document.created_at,
      operation: document.operation,
      model: modelNameOf(document),
      as_of: document.window.as_of,
      tickers: Object.keys(document.mu).length,
      verdict: document.verdict?.title ?? null,
      problem: null,
    };
  } catch (error) {
    reading.signal?.throwIfAborted();
    const { code, detail } = problemOf(error);
    const unknown = { operation: null, model: null, as_of: null, tickers: null, verdict: null };
    return {
      ...{ path, created_at: new Date(writtenAt).toISOString(), ...unknown },
      problem: `${code}: ${detail}`,
    };
  }
}

const HEADER = ["output", "created", "job", "model", "as of", "tickers", "verdict"];

function listText(outputs: readonly ListedOutput[], count: number): string {
  if (outputs.length === 0) return "There is no output here; name another folder.\n";
  const rows = outputs.map(({ path, created_at, operation, model, as_of, tickers, verdict, problem }) =>
    [
      path,
      created_at.slice(0, 16).replace("T", " "),
      operation ?? "-",
      model ?? "-",
      as_of ?? "-",
      tickers === null ? "-" : String(tickers),
      problem ?? verdict ?? "-",
    ].map((cell) => printable(cell).slice(0, MAX_CELL)),
  );
  const more = count - outputs.length;
  return [
    table(HEADER, rows),
    ...(more > 0 ? [`${counted(more, "older output")}; --limit shows more.`] : []),
    "",
  ].join("\n");
}

/** Characters of a cell; a problem or a path may be long. */
const MAX_CELL = 120;
