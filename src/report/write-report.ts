import { basename, dirname } from "node:path";
import { replaceByStaged, stageFile } from "../blob/folder/staged-file.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { openDocument, type Reading, readDocument, readVerdict } from "../outputs/open-document.ts";
import { checkVerdicts } from "./data/check-verdicts.ts";
import { reportOf } from "./data/report-of.ts";
import { checkedEvidence } from "./evidence/check-metrics.ts";
import { page } from "./page/page.ts";

/** What a caller wants to see. */
export interface ReportRequest {
  /** Outputs of jobs, at least one: paths, file: URLs or https URLs. */
  readonly outputs: readonly string[];
  /** Verdicts of `mucast replay` and `mucast audit` on them, likewise. */
  readonly replays?: readonly string[];
  readonly audits?: readonly string[];
  /** The path of the HTML file; one that is there is replaced. */
  readonly out: string;
}

/** More side by side are no picture. */
const MAX_OUTPUTS = 8;

/**
 * Writes the report of one output, or of several side by side, as one HTML file that needs nothing else. The same outputs
 * give the same bytes.
 * @throws MucastError of reading an output; invalid_data where its metrics are not those of its forecasts; output_failed.
 */
export async function writeReport(request: ReportRequest, reading: Reading): Promise<void> {
  const { outputs, replays = [], audits = [], out } = request;
  if (outputs.length > MAX_OUTPUTS) {
    const message = `output: ${outputs.length} outputs are given; a report compares at most ${MAX_OUTPUTS}`;
    throw new MucastError("invalid_request", message, { path: "output", limit: MAX_OUTPUTS });
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

/**
 * The page of one output whose bytes a store gives.
 * @throws MucastError of `chunks`; too_large, unreadable_blob; invalid_data where its metrics are not those of its forecasts.
 */
export async function drawReport(name: string, chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const evidence = checkedEvidence(await readDocument(name, chunks));
  return page(reportOf([{ evidence, replay: undefined, audit: undefined }]));
}

/** One after the other: a document may fill much of the memory while it is read. */
async function eachOf<T>(locations: readonly string[], read: (location: string) => Promise<T>): Promise<T[]> {
  const found: T[] = [];
  for (const location of locations) found.push(await read(location));
  return found;
}
