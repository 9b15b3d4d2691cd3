import { foldsOf } from "./folds.ts";
import { intervalsSection } from "./intervals-section.ts";
import { muOf } from "./mu.ts";
import type { OutputDocument } from "./open-document.ts";
import { orderWorth } from "./order-worth.ts";
import { originOf } from "./origin.ts";
import { type OutputEvidence, outputEvidence } from "./output-evidence.ts";
import type { OutputReport, ReportData } from "./report-data.ts";
import { sizesOf } from "./sizes.ts";
import { skillOverTime } from "./skill-over-time.ts";
import { tickerTable } from "./ticker-table.ts";
import { trainingOf } from "./training.ts";
import { verdict } from "./verdict.ts";

/**
 * Everything that a report says.
 * @param documents at least one.
 * @throws MucastError invalid_data where lists of an output do not belong together.
 */
export function reportOf(documents: readonly OutputDocument[]): ReportData {
  const outputs = documents.map(outputEvidence).map(outputReport);
  return { title: `Forecasts of ${outputs.map(({ name }) => name).join(", ")}`, outputs };
}

function outputReport(evidence: OutputEvidence): OutputReport {
  const { document } = evidence;
  return {
    name: evidence.modelName,
    facts: factsOf(evidence),
    verdict: verdict(evidence),
    mu: muOf(evidence),
    skill: skillOverTime(evidence),
    order: orderWorth(evidence),
    sizes: sizesOf(evidence),
    intervals: intervalsSection(evidence),
    folds: foldsOf(evidence),
    training: trainingOf(evidence),
    tickers: tickerTable(evidence),
    origin: originOf(document, { replay: undefined, audit: undefined }),
  };
}

function factsOf({ document, rows, labelled, dateCount, table }: OutputEvidence): OutputReport["facts"] {
  const { operation, id, created_at, window } = document;
  const firsts = labelled.flatMap(({ days }) => days[0] ?? []);
  const lasts = labelled.flatMap(({ days }) => days.at(-1) ?? []);
  return {
    operation,
    id,
    createdAt: created_at,
    start: window.start,
    end: window.end,
    learningEnd: window.learning_end,
    asOf: window.as_of,
    tickers: rows.length,
    rows: table.pooled.n,
    dates: dateCount,
    firstDay: firsts.length === 0 ? undefined : firsts.reduce((a, b) => Math.min(a, b)),
    lastDay: lasts.length === 0 ? undefined : lasts.reduce((a, b) => Math.max(a, b)),
  };
}
