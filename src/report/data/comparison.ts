import { MIN_DATES } from "../../evaluate/newey-west.ts";
import type { OutputEvidence } from "../evidence/output-evidence.ts";
import { type ComparisonTests, LEVEL, MIN_SET_DATES } from "./comparison-tests.ts";
import { countedRows, figure, pFigure, wholePercent } from "./figures.ts";
import { heldOutSlope } from "./held-out-slope.ts";
import type { Comparison, Verdict } from "./report-data.ts";

/** An output on the rows that all outputs have, with its verdict on these rows. */
export interface ComparedOutput {
  readonly name: string;
  readonly common: OutputEvidence;
  readonly verdict: Verdict;
  /** Labelled rows of the whole output. */
  readonly allRows: number;
}

/**
 * Compares outputs side by side. @param outputs two or more, all on the same rows. @param tests of these outputs, in the same order.
 */
export function comparisonOf(outputs: readonly ComparedOutput[], tests: ComparisonTests): Comparison {
  const { table, dateCount, labelled } = outputs[0]!.common;
  const rows = table.pooled.n;
  const tickers = labelled.filter(({ days }) => days.length > 0).length;
  const leftOut = outputs.map(({ allRows }) => allRows - rows);
  const names = outputs.map(({ name }) => name);
  return {
    names,
    rows,
    dates: dateCount,
    tickers,
    leftOut,
    rowsFinding: rowsFinding(rows, dateCount, tickers, leftOut),
    metrics: metricsOf(outputs),
    tests,
    skillFinding: skillFinding(tests, names),
    confidenceFinding: confidenceFinding(tests, names),
    pairsFinding: pairsFinding(tests, names),
    choice: choiceOf(outputs, tests),
  };
}

function rowsFinding(rows: number, dates: number, tickers: number, leftOut: readonly number[]): string {
  const most = leftOut.reduce((a, b) => Math.max(a, b));
  const rest =
    most === 0 ? "no rows are excluded" : `up to ${countedRows(most, "row")} per output are excluded`;
  return `The outputs share ${countedRows(rows, "row")} with realised returns, for ${countedRows(tickers, "ticker")} on ${countedRows(dates, "date")}; ${rest}.`;
}

function metricsOf(outputs: readonly ComparedOutput[]): Comparison["metrics"] {
  const row = (
    name: string,
    unit: Comparison["metrics"][number]["unit"],
    better: Comparison["metrics"][number]["better"],
    of: (evidence: OutputEvidence) => number | null | undefined,
  ) => ({ name, unit, better, values: outputs.map(({ common }) => of(common) ?? null) });
  return [
    row("IC", "number", "higher", ({ table }) => table.cross_section.ic_mean),
    row("RankIC", "number", "higher", ({ table }) => table.cross_section.rank_ic_mean),
    row("R² against zero", "percent", "higher", ({ table }) => table.pooled.r2_zero),
    row("R² against zero, median ticker", "percent", "higher", ({ table }) => table.r2_zero_median),
    row("Hit rate", "share", "higher", ({ table }) => table.pooled.hit_rate),
    row("RMSE", "share", "lower", ({ table }) => table.pooled.rmse),
    row("Slope of returns on forecasts", "number", "near", (evidence) => heldOutSlope(evidence).value),
    row("Coverage minus nominal coverage", "percent", "near", coverageGap),
    row("Interval score", "share", "lower", ({ coverage }) => coverage?.pooled.interval_score),
  ];
}

function coverageGap({ document, coverage }: OutputEvidence): number | null {
  const held = coverage?.pooled.coverage ?? null;
  const { intervals } = document.metrics;
  return held === null || intervals === null ? null : held - (1 - intervals.alpha);
}

const BENCHMARKS = {
  "no order": "the order",
  "zero forecast": "the sizes against zero",
  "training mean": "the sizes against the training mean",
} as const;

function skillFinding({ skill, ability, dates }: ComparisonTests, names: readonly string[]): string {
  if (skill === undefined) {
    return `${countedRows(dates, "date")} are too few to test an output; at least ${MIN_DATES} are needed.`;
  }
  if (ability.length === 0) return "No output has forecasts that differ from the baselines.";
  const sentences = ability.map(
    ({ benchmark, best, p }) => `p ${pFigure(p)} for ${BENCHMARKS[benchmark]} (the best is ${names[best]})`,
  );
  return `Probability that the best of ${names.length} outputs looks this good if none has skill (superior predictive ability, Hansen 2005): ${sentences.join(", ")}.`;
}

function confidenceFinding({ confidence, form }: ComparisonTests, names: readonly string[]): string {
  if (confidence === undefined) return `A model confidence set needs ${MIN_SET_DATES} dates.`;
  const sentences = (p: readonly (number | null)[], measure: string) => {
    const kept = names.filter((_, k) => isInSet(p[k]!));
    if (kept.length === names.length) return `By ${measure}, any output may be the best`;
    const sure = `with ${wholePercent(100 * (1 - LEVEL))} confidence`;
    return kept.length === 1
      ? `By ${measure}, ${kept[0]} is the best, ${sure}`
      : `By ${measure}, the best is one of ${kept.join(", ")}, ${sure}`;
  };
  return `${sentences(confidence.order, orderName(form))}. ${sentences(confidence.sizes, "squared error")} (model confidence set, Hansen, Lunde and Nason 2011).`;
}

/** The name of the measure of order, in words. */
export function orderName(form: ComparisonTests["form"]): string {
  return form === "cross_section" ? "IC" : "correlation over time";
}

function isInSet(p: number | null): boolean {
  return p === null || p > LEVEL;
}

function pairsFinding({ pairs, dates, form }: ComparisonTests, names: readonly string[]): string {
  if (dates === 0) return "There are no common rows with realised returns to test on.";
  if (pairs.length === 0) {
    return `${countedRows(dates, "date")} are too few to tell the outputs apart; at least ${MIN_DATES} are needed.`;
  }
  const significant = pairs.filter(({ p }) => p !== null && p <= LEVEL);
  if (significant.length === 0) {
    return `No test finds a difference between ${names.length === 2 ? "the two outputs" : "any two outputs"} beyond chance (adjusted p of ${LEVEL} needed).`;
  }
  const clearest = [...significant].sort((a, b) => Math.abs(b.t!) - Math.abs(a.t!)).slice(0, MAX_PAIRS);
  const sentences = clearest.map(({ measure, first, second, t, p }) => {
    const [better, worse] = t! > 0 ? [first, second] : [second, first];
    const by = measure === "order" ? orderName(form) : measure;
    return `${names[better]} was better than ${names[worse]} by ${by} (t ${figure(Math.abs(t!), "number")}, adjusted p ${pFigure(p)})`;
  });
  const all =
    significant.length > MAX_PAIRS
      ? `${figure(significant.length, "count")} of ${countedRows(pairs.length, "test")} find a difference between two outputs. The clearest: `
      : "";
  return `${all}${sentences.join("; ")}.`;
}

/** More pairs in one sentence do not help: the table has them all. */
const MAX_PAIRS = 3;

/**
 * The output that a careful person would choose: the only one, if there is exactly one, that has evidence of skill and may be the
 * best. The confidence sets decide; over few dates, the tests of pairs do.
 */
function choiceOf(
  outputs: readonly ComparedOutput[],
  { confidence, pairs }: ComparisonTests,
): Comparison["choice"] {
  if (outputs.every(({ verdict }) => verdict.state === "too_few")) {
    return {
      index: undefined,
      sentence: "A careful reader chooses none yet: too few realised returns are known.",
    };
  }
  const isSkilled = ({ verdict: { state } }: ComparedOutput) => state === "skill" || state === "oversized";
  const skilled = outputs.filter(isSkilled);
  if (skilled.length === 0) {
    return {
      index: undefined,
      sentence: "A careful reader chooses none: no output shows evidence of skill on the common rows.",
    };
  }
  const isBest = (k: number) =>
    confidence === undefined
      ? !pairs.some(
          (pair) => pair.p !== null && pair.p <= LEVEL && (pair.t! > 0 ? pair.second : pair.first) === k,
        )
      : isInSet(confidence.order[k]!) && isInSet(confidence.sizes[k]!);
  const unbeaten = outputs.filter((output, k) => isSkilled(output) && isBest(k));
  if (skilled.length === 1 || unbeaten.length === 1) {
    const taken = skilled.length === 1 ? skilled[0]! : unbeaten[0]!;
    const others =
      skilled.length === 1
        ? "the only one with evidence of skill"
        : "the only one with evidence of skill that no other output beats";
    const sentence = `A careful reader would choose ${taken.name}, ${others}. Because it is chosen from ${outputs.length} outputs, it will do a little worse than these figures.`;
    return { index: outputs.indexOf(taken), sentence };
  }
  const names = (unbeaten.length === 0 ? skilled : unbeaten).map(({ name }) => name).join(", ");
  return {
    index: undefined,
    sentence: `The evidence does not separate ${names}: a careful reader chooses the simplest of them, or their mean.`,
  };
}
