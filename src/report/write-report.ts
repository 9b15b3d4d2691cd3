import { basename, dirname } from "node:path";
import { replaceByStaged, stageFile } from "../blob/folder/staged-file.ts";
import { MAX_COMPARED_OUTPUTS } from "../contract/config/limits.ts";
import { MucastError } from "../contract/errors/errors.ts";
import {
  type OutputDocument,
  openDocument,
  type Reading,
  readDocument,
  readVerdict,
} from "../outputs/open-document.ts";
import { checkedEvidence } from "./evidence/check-metrics.ts";
import { checkVerdicts } from "./evidence/check-verdicts.ts";
import { reportOf } from "./evidence/reported-outputs.ts";
import { page } from "./page.ts";

/** A request for a report. */
interface ReportRequest {
  /** Outputs of jobs, at least one: paths, file: URLs or https URLs. */
  readonly outputs: readonly string[];
  /** Verdicts of `mucast replay` and `mucast audit` on them, in the same forms. */
  readonly replays?: readonly string[];
  readonly audits?: readonly string[];
  /** The path of the HTML file; an existing file is replaced. */
  readonly out: string;
}

/**
 * Writes the report of one output, or of several side by side, as one self-contained HTML file. The same outputs give the same bytes.
 * @throws MucastError of reading an output; invalid_data if its metrics do not match its forecasts; output_failed.
 */
export async function writeReport(request: ReportRequest, reading: Reading): Promise<void> {
  const { outputs, replays = [], audits = [], out } = request;
  if (outputs.length > MAX_COMPARED_OUTPUTS) {
    const message = `output: ${outputs.length} outputs are given; a report compares at most ${MAX_COMPARED_OUTPUTS}`;
    throw new MucastError("invalid_request", message, { path: "output", limit: MAX_COMPARED_OUTPUTS });
  }
  const evidence = await eachOf(outputs, async (location) =>
    checkedEvidence(await openDocument(location, reading)),
  );
  const replayed = await eachOf(replays, (location) => readVerdict(location, reading));
  const audited = await eachOf(audits, (location) => readVerdict(location, reading));
  const verdicts = checkVerdicts(evidence, replayed, audited);
  const html = page(reportOf(evidence.map((output, i) => ({ evidence: output, ...verdicts[i]! }))));
  const { signal } = reading;
  await replaceByStaged(await stageFile(dirname(out), basename(out), html, { signal, shown: out }));
}

/** An output in a store. */
interface StoredOutput {
  readonly name: string;
  /** Starts reading it. */
  read(): AsyncIterable<Uint8Array>;
}

/**
 * The page of outputs whose bytes come from a store: of one, or of several side by side.
 * @throws MucastError of `read`; too_large, unreadable_blob; invalid_data if metrics do not match forecasts, or if the outputs come from
 * different prices.
 */
export async function drawReport(outputs: readonly StoredOutput[]): Promise<string> {
  const evidence = await eachOf(outputs, async (output) =>
    checkedEvidence(await readDocument(output.name, output.read())),
  );
  return page(reportOf(evidence.map((each) => ({ evidence: each, replay: undefined, audit: undefined }))));
}

/** The page of one output. @throws MucastError invalid_data if its metrics do not match its forecasts. */
export function reportPage(output: OutputDocument): string {
  return page(reportOf([{ evidence: checkedEvidence(output), replay: undefined, audit: undefined }]));
}

/** One after the other: reading a document may fill much of the memory. */
async function eachOf<S, T>(sources: readonly S[], read: (source: S) => Promise<T>): Promise<T[]> {
  const found: T[] = [];
  for (const source of sources) found.push(await read(source));
  return found;
}
