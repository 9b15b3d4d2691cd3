import { createHash } from "node:crypto";
import { readOutput } from "../client/read-output.ts";
import { outputDocument } from "../outputs/outputs.testing.ts";
import { checkedEvidence } from "./evidence/check-metrics.ts";
import {
  type CheckedOutput,
  type Report,
  type ReportedOutput,
  reportOf,
} from "./evidence/reported-outputs.ts";
import { candidatesOf } from "./sections/candidates.ts";
import { comparisonOf } from "./sections/comparison.ts";
import { foldsOf } from "./sections/folds.ts";
import { muOf } from "./sections/forecasts.ts";
import { intervalsOf } from "./sections/intervals.ts";
import { orderWorth } from "./sections/order-worth.ts";
import { originOf } from "./sections/origin.ts";
import { sizesOf } from "./sections/sizes.ts";
import { skillOverTime } from "./sections/skill-over-time.ts";
import { tickerTable } from "./sections/tickers.ts";
import { trainingOf } from "./sections/training.ts";
import { verdictOf } from "./sections/verdict.ts";

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

/** The numbers and sentences of every section of such a report. */
export function reportedData(...texts: readonly string[]) {
  const report = reported(...texts);
  return { outputs: report.outputs.map(dataOf), comparison: comparisonOf(report) };
}

function dataOf(output: ReportedOutput) {
  const { whole, common } = output;
  return {
    verdict: verdictOf(output),
    mu: muOf(whole),
    skill: skillOverTime(common),
    order: orderWorth(common),
    sizes: sizesOf(common),
    intervals: intervalsOf(common),
    candidates: candidatesOf(whole),
    folds: foldsOf(whole),
    training: trainingOf(whole),
    tickers: tickerTable(common),
    origin: originOf(output),
  };
}

/** Every sentence among such numbers and sentences, at any depth. */
export function sentencesIn(part: unknown, name = ""): string[] {
  if (typeof part === "string") return /finding$|^(absent|sentence)$/i.test(name) ? [part] : [];
  if (typeof part !== "object" || part === null || ArrayBuffer.isView(part)) return [];
  return Object.entries(part).flatMap(([key, value]) =>
    sentencesIn(value, Array.isArray(part) && name === "sentences" ? "sentence" : key),
  );
}
