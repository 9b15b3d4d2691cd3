import { LEAST_DATES } from "../../evaluate/newey-west.ts";
import type { OutputEvidence } from "../evidence/output-evidence.ts";
import { dieboldMariano, type EqualAccuracy, squaredErrors } from "../statistics/diebold-mariano.ts";
import { NORMAL_975 } from "../statistics/over-dates.ts";
import { countedRows, figure } from "./figures.ts";
import type { Comparison, DieboldMarianoTest, Verdict } from "./report-data.ts";

/** An output on the rows that all have in common, with what is said of it there. */
export interface ComparedOutput {
  readonly name: string;
  readonly common: OutputEvidence;
  readonly verdict: Verdict;
  /** Labelled rows of the whole output. */
  readonly allRows: number;
}

const ZERO = "zero forecast";

/** Outputs side by side. @param outputs two or more, all on the same rows. */
export function comparisonOf(outputs: readonly ComparedOutput[]): Comparison {
  const { table, dateCount, labelled } = outputs[0]!.common;
  const rows = table.pooled.n;
  const tickers = labelled.filter(({ days }) => days.length > 0).length;
  const leftOut = outputs.map(({ allRows }) => allRows - rows);
  const tests = testsOf(outputs);
  return {
    names: outputs.map(({ name }) => name),
    rows,
    dates: dateCount,
    tickers,
    leftOut,
    rowsFinding: rowsFinding(rows, dateCount, tickers, leftOut),
    metrics: metricsOf(outputs),
    tests,
    testsFinding: testsFinding(tests, outputs.length),
    choice: choiceOf(outputs, tests),
  };
}

function rowsFinding(rows: number, dates: number, tickers: number, leftOut: readonly number[]): string {
  const most = leftOut.reduce((a, b) => Math.max(a, b));
  const rest =
    most === 0 ? "none is left out" : `of an output up to ${countedRows(most, "row")} are left out`;
  return `All outputs have ${countedRows(rows, "row")} with realised returns in common, of ${countedRows(tickers, "ticker")} on ${countedRows(dates, "date")}; ${rest}.`;
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
    row(
      "Slope of returns on forecasts",
      "number",
      "near",
      ({ document }) => document.metrics.shrinkage?.pooled.b,
    ),
    row("Coverage less what was asked", "percent", "near", coverageGap),
    row("Interval score", "share", "lower", ({ coverage }) => coverage?.pooled.interval_score),
  ];
}

function coverageGap({ document, coverage }: OutputEvidence): number | null {
  const held = coverage?.pooled.coverage ?? null;
  const { intervals } = document.metrics;
  return held === null || intervals === null ? null : held - (1 - intervals.alpha);
}

/** Each output against 0, and each pair by squared error and by RankIC. */
function testsOf(outputs: readonly ComparedOutput[]): DieboldMarianoTest[] {
  const errors = outputs.map(({ common }) => squaredErrors(common.byDate));
  const first = outputs[0]!.common.byDate;
  const zeros = squaredErrors({ ...first, predicted: new Float64Array(first.realised.length) });
  const against = outputs.map(({ name }, i) =>
    test("squared error", name, ZERO, dieboldMariano(difference(zeros, errors[i]!))),
  );
  const pairs = outputs.flatMap((first, i) =>
    outputs.slice(i + 1).flatMap((second, k) => {
      const gains = difference(errors[i + 1 + k]!, errors[i]!);
      const order = orderGains(first.common, second.common);
      return [
        test("squared error", first.name, second.name, dieboldMariano(gains)),
        test("RankIC", first.name, second.name, dieboldMariano(order)),
      ];
    }),
  );
  return [...against, ...pairs].filter(({ dates }) => dates > 0);
}

function test(
  measure: DieboldMarianoTest["measure"],
  first: string,
  second: string,
  found: EqualAccuracy,
): DieboldMarianoTest {
  return { measure, first, second, ...found };
}

function difference(a: Float64Array, b: Float64Array): Float64Array {
  return a.map((value, i) => value - b[i]!);
}

/** RankIC of the first output less that of the second, on the dates on which both have one. */
function orderGains(first: OutputEvidence, second: OutputEvidence): Float64Array {
  const other = new Map(Array.from(second.dates.days, (day, i) => [day, second.dates.rankIc[i]!]));
  const gains: number[] = [];
  for (const [i, day] of first.dates.days.entries()) {
    const theirs = other.get(day);
    if (theirs !== undefined) gains.push(first.dates.rankIc[i]! - theirs);
  }
  return Float64Array.from(gains);
}

function testsFinding(tests: readonly DieboldMarianoTest[], outputs: number): string {
  const pairs = tests.filter(({ second }) => second !== ZERO);
  if (pairs.length === 0) return "There are no common rows with realised returns to test on.";
  const dates = Math.max(...pairs.map((pair) => pair.dates));
  if (dates < LEAST_DATES) {
    return `On ${countedRows(dates, "date")} no test can tell the outputs apart: ${LEAST_DATES} are the least.`;
  }
  const apart = pairs.filter(isApart);
  if (apart.length === 0) {
    return `No test tells ${outputs === 2 ? "the two outputs" : "any two outputs"} apart by more than chance (Diebold-Mariano, |t| above 1.960 is asked).`;
  }
  const told = apart.map(({ measure, first, second, t }) => {
    const [better, worse] = t! > 0 ? [first, second] : [second, first];
    return `${better} was better than ${worse} by ${measure} (t ${figure(Math.abs(t!), "number")})`;
  });
  return `${told.join("; ")}.`;
}

function isApart({ t }: DieboldMarianoTest): boolean {
  return t !== null && Math.abs(t) > NORMAL_975;
}

/** Which output a careful person would take: one with evidence of skill that no other one beats, if it is the only one. */
function choiceOf(
  outputs: readonly ComparedOutput[],
  tests: readonly DieboldMarianoTest[],
): Comparison["choice"] {
  if (outputs.every(({ verdict }) => verdict.state === "too_few")) {
    return {
      index: undefined,
      sentence: "A careful person takes none yet: too few realised returns are known.",
    };
  }
  const skilled = outputs.filter(({ verdict: { state } }) => state === "skill" || state === "oversized");
  if (skilled.length === 0) {
    return {
      index: undefined,
      sentence: "A careful person takes none: on the common rows no output shows evidence of skill.",
    };
  }
  const unbeaten = skilled.filter(({ name }) => !tests.some((one) => isApart(one) && loserOf(one) === name));
  if (unbeaten.length === 1) {
    const { name } = unbeaten[0]!;
    const others =
      skilled.length === 1 ? "the only one with evidence of skill" : "the only one that no other beat";
    const sentence = `A careful person would take ${name}, ${others}; picked among ${outputs.length}, it will do a little worse than these figures say.`;
    return { index: outputs.indexOf(unbeaten[0]!), sentence };
  }
  const names = (unbeaten.length === 0 ? skilled : unbeaten).map(({ name }) => name).join(", ");
  return {
    index: undefined,
    sentence: `Evidence of skill does not part ${names}: a careful person takes the simplest of them, or their mean.`,
  };
}

function loserOf({ first, second, t }: DieboldMarianoTest): string {
  return t! > 0 ? second : first;
}
