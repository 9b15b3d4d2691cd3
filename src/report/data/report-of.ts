import { onCommonRows } from "../evidence/common-rows.ts";
import type { OutputEvidence } from "../evidence/output-evidence.ts";
import { type AdjustedVerdict, adjustedVerdict } from "./adjusted-verdict.ts";
import type { CheckVerdicts } from "./check-verdicts.ts";
import { comparisonOf } from "./comparison.ts";
import { comparisonTests } from "./comparison-tests.ts";
import type { OutputReport, ReportData } from "./report-data.ts";
import { foldsOf } from "./sections/folds.ts";
import { intervalsSection } from "./sections/intervals.ts";
import { muOf } from "./sections/mu.ts";
import { orderWorth } from "./sections/order-worth.ts";
import { originOf } from "./sections/origin.ts";
import { sizesOf } from "./sections/sizes.ts";
import { skillOverTime } from "./sections/skill-over-time.ts";
import { tickerTable } from "./sections/ticker-table.ts";
import { trainingOf } from "./sections/training.ts";
import { verdict } from "./sections/verdict.ts";

/** An output with the verdicts on it. */
export interface ReportedOutput extends CheckVerdicts {
  readonly evidence: OutputEvidence;
}

/**
 * Computes everything that a report says.
 * @param outputs at least one; several are compared on the rows that all of them have.
 * @throws MucastError invalid_data if outputs come from different prices.
 */
export function reportOf(outputs: readonly ReportedOutput[]): ReportData {
  const whole = outputs.map(({ evidence }) => evidence);
  const names = distinctNames(whole.map(({ modelName }) => modelName));
  const title = `Forecasts of ${names.join(", ")}`;
  if (outputs.length === 1) {
    return { title, outputs: [outputReport(names[0]!, whole[0]!, whole[0]!, outputs[0]!)] };
  }
  const common = onCommonRows(whole);
  const tests = comparisonTests(common.map(({ labelled }) => labelled));
  const reports = outputs.map((output, i) => {
    const alone = common[i]!.verdict;
    const adjusted = alone && adjustedVerdict(alone, tests.skill?.[i], outputs.length);
    return outputReport(names[i]!, whole[i]!, common[i]!, output, adjusted);
  });
  const compared = reports.map((report, i) => ({
    name: report.name,
    verdict: report.verdict,
    common: common[i]!,
    allRows: whole[i]!.table.pooled.n,
  }));
  return { title, outputs: reports, comparison: comparisonOf(compared, tests) };
}

/** @param common the same output on the rows of the report. @param adjusted its verdict if there are several outputs. */
function outputReport(
  name: string,
  whole: OutputEvidence,
  common: OutputEvidence,
  verdicts: CheckVerdicts,
  adjusted?: AdjustedVerdict,
): OutputReport {
  return {
    name,
    facts: factsOf(common),
    verdict: verdict(common, adjusted),
    mu: muOf(whole),
    skill: skillOverTime(common),
    order: orderWorth(common),
    sizes: sizesOf(common),
    intervals: intervalsSection(common),
    folds: foldsOf(whole),
    training: trainingOf(whole),
    tickers: tickerTable(common),
    origin: originOf(whole.document, verdicts),
  };
}

/** Outputs with the same model get their position as a number. */
function distinctNames(names: readonly string[]): string[] {
  return names.map((name, i) =>
    names.filter((other) => other === name).length === 1 ? name : `${name} (${i + 1})`,
  );
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
