import { createHash } from "node:crypto";
import { readOutput } from "../client/read-output.ts";
import { outputDocument } from "../outputs/outputs.testing.ts";
import { checkedEvidence } from "./evidence/check-metrics.ts";
import { type CheckedOutput, type Report, reportOf } from "./evidence/reported-outputs.ts";

/** A report on outputs that are given as JSON texts. */
export function reported(...texts: readonly string[]): Report {
  return reportOf(texts.map(outputNamed));
}

function outputNamed(text: string, index: number): CheckedOutput {
  const sha256 = createHash("sha256").update(text).digest("hex");
  const document = outputDocument(`output_${index + 1}.json`, sha256, readOutput(JSON.parse(text)));
  const evidence = checkedEvidence(document);
  return { evidence, replay: undefined, audit: undefined };
}
