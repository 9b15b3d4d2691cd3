import { fileURLToPath } from "node:url";
import { isRemoteUrl } from "../../blob/location.ts";
import { redactUrl } from "../../blob/policy.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { printable } from "../../contract/errors/wording.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import type { Reading } from "../../outputs/open-document.ts";
import { writeReport } from "../../report/write-report.ts";
import type { Reporter } from "../terminal/reporter.ts";

/**
 * Checks before the job whether `--report` is possible: a container has no place for a page.
 * @throws MucastError invalid_request.
 */
export function checkReportPlace(blobUrl: string | undefined): void {
  if (blobUrl === undefined || !isRemoteUrl(blobUrl)) return;
  const value = redactUrl(blobUrl);
  const message = `--report needs an output in a folder, but BLOB_URL is ${value}: run the job without --report, then mucast report --output URL --out FILE`;
  throw new MucastError("invalid_request", message, { path: "--report", value });
}

/** The path of the report that a job draws with its output: beside the output. */
export function reportPath(output: string): string {
  return output.replace(/\.json$/, ".html");
}

/**
 * Writes the report of an output beside it, `<output name>.html`, and its path to stderr. The job has already succeeded: if there
 * is no report, a warning says why.
 * @param outputUrl the file: URL of the output.
 * @throws what the signal throws.
 */
export async function writeJobReport(outputUrl: string, reading: Reading, reporter: Reporter): Promise<void> {
  const output = fileURLToPath(outputUrl);
  const out = reportPath(output);
  try {
    await writeReport({ outputs: [output], out }, reading);
    reporter.write({ level: "info", report: out }, printable(`report: ${out}`));
  } catch (error) {
    reading.signal?.throwIfAborted();
    const { code, detail } = problemOf(error);
    const message = `the output was written, but its report was not: ${detail}`;
    reporter.write({ level: "warning", code, message }, printable(`warning: ${code}: ${message}`));
  }
}
