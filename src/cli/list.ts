import type { Command } from "commander";
import { show } from "../contract/errors/faults.ts";
import { counted, printable } from "../contract/errors/wording.ts";
import { problemOf } from "../contract/problems/problem.ts";
import { type FoundOutput, findOutputs } from "../outputs/find-outputs.ts";
import { openSummary, type Reading } from "../outputs/open-document.ts";
import { modelNameOf, type OutputSummary } from "../outputs/output-summary.ts";
import { addCommand, refusal } from "./command.ts";
import { outputFolder, readUntilSignal } from "./locations.ts";
import { outputNames } from "./terminal/output-names.ts";
import { table } from "./terminal/output-table.ts";

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

It looks for ml_engine_*.json and nn_engine_*.json in the folder and in its folders data and forecasts/data. Without a folder, it
uses the folder in BLOB_URL, or the current one.`,
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
