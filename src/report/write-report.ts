import { basename, dirname } from "node:path";
import { replaceByStaged, stageFile } from "../blob/folder/staged-file.ts";
import { openDocument, type Reading } from "./data/open-document.ts";
import { reportOf } from "./data/report-of.ts";
import { page } from "./page/page.ts";

/** What a caller wants to see. */
export interface ReportRequest {
  /** Outputs of jobs, at least one: paths, file: URLs or https URLs. */
  readonly outputs: readonly string[];
  /** The path of the HTML file; one that is there is replaced. */
  readonly out: string;
}

/**
 * Writes the report of one output, or of several side by side, as one HTML file that needs nothing else. The same outputs
 * give the same bytes.
 * @throws MucastError of reading an output; invalid_data where its metrics are not those of its forecasts; output_failed.
 */
export async function writeReport({ outputs, out }: ReportRequest, reading: Reading): Promise<void> {
  const documents = [];
  for (const location of outputs) documents.push(await openDocument(location, reading));
  const html = page(reportOf(documents));
  const { signal } = reading;
  await replaceByStaged(await stageFile(dirname(out), basename(out), html, { signal, shown: out }));
}
