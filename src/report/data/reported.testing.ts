import { createHash } from "node:crypto";
import { readOutput } from "../../client/read-output.ts";
import { type ReportedOutput, reportOf } from "./report-of.ts";

/** The data of a report on outputs given as JSON texts. */
export function reported(...texts: readonly string[]) {
  return reportOf(texts.map(outputNamed));
}

function outputNamed(text: string, index: number): ReportedOutput {
  return {
    name: `output_${index + 1}.json`,
    sha256: createHash("sha256").update(text).digest("hex"),
    document: readOutput(JSON.parse(text)),
    replay: undefined,
    audit: undefined,
  };
}
