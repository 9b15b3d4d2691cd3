import { MIN_DATES } from "../../evaluate/newey-west.ts";
import { escapeText } from "../charts/plot.ts";
import { type ComparisonTests, LEVEL, MIN_SET_DATES } from "../evidence/comparison-tests.ts";
import { heldOutSlope } from "../evidence/held-out-slope.ts";
import type { OutputEvidence } from "../evidence/output-evidence.ts";
import { type Report, type ReportedOutput, stateOf } from "../evidence/reported-outputs.ts";
import {
  type ComparedUnit,
  countedRows,
  figure,
  figureDifference,
  NO_FIGURE,
  pFigure,
  signedFigure,
  wholePercent,
} from "../figures.ts";
import { numbersTable, plainTable } from "../panels/panel.ts";
import type { Section } from "../panels/section.ts";

/** Several outputs on the rows that all of them have: which one a careful person would choose, metrics, tests. */
export const comparisonSection: Section = {
  id: "comparison",
  title: "Side by side",
  html: (report) => {
    const comparison = comparisonOf(report);
    return comparison && comparisonHtml(comparison);
  },
};

/** Several outputs on the rows that all of them have. */
interface Comparison {
  /** The names of the outputs, in their order. */
  readonly names: readonly string[];
  readonly rows: number;
  readonly dates: number;
  readonly tickers: number;
  /** What the rows are. */
  readonly judgedRows: OutputEvidence["judgedRows"];
  /** For each output, the labelled rows that are not among them. */
  readonly leftOut: readonly number[];
  readonly rowsFinding: string;
  readonly metrics: readonly {
    readonly name: string;
    readonly unit: ComparedUnit;
    /** Which of two values is better. */
    readonly better: "higher" | "lower" | "near 0" | "near 1";
    readonly values: readonly (number | null)[];
  }[];
  readonly tests: ComparisonTests;
  readonly skillFinding: string;
  readonly confidenceFinding: string;
  readonly pairsFinding: string;
  readonly choice: {
    /** Index into `names`; undefined if a careful person would choose none. */
    readonly index: number | undefined;
    readonly sentence: string;
  };
}

/** @returns undefined for one output. */
export function comparisonOf({ outputs, tests }: Report): Comparison | undefined {
  if (tests === undefined) return undefined;
  const { table, dateCount, labelled, judgedRows } = outputs[0]!.common;
  const rows = table.pooled.n;
  const tickers = labelled.filter(({ days }) => days.length > 0).length;
  const leftOut = outputs.map(({ whole }) => labelledRows(whole, judgedRows) - rows);
  const names = outputs.map(({ name }) => name);
  return {
    names,
    rows,
    dates: dateCount,
    tickers,
    judgedRows,
    leftOut,
    rowsFinding: rowsFinding({ rows, dates: dateCount, tickers, judgedRows, leftOut }),
    metrics: metricsOf(outputs),
    tests,
    skillFinding: skillFinding(tests, names),
    confidenceFinding: confidenceFinding(tests, names),
    pairsFinding: pairsFinding(tests, names),
    choice: choiceOf(outputs, tests),
  };
}

/** The number of rows of an output that have a realised return. */
function labelledRows({ table, outOfFold = [] }: OutputEvidence, rows: OutputEvidence["judgedRows"]): number {
  return rows === "score" ? table.pooled.n : outOfFold.reduce((sum, { days }) => sum + days.length, 0);
}

function rowsFinding({
  rows,
  dates,
  tickers,
  judgedRows,
  leftOut,
}: Pick<Comparison, "rows" | "dates" | "tickers" | "judgedRows" | "leftOut">): string {
  const most = leftOut.reduce((a, b) => Math.max(a, b));
  const rest =
    most === 0 ? "no rows are excluded" : `up to ${countedRows(most, "row")} per output are excluded`;
  const kind = judgedRows === "score" ? "row" : "out-of-fold row";
  return `The outputs share ${countedRows(rows, kind)} with realised returns, for ${countedRows(tickers, "ticker")} on ${countedRows(dates, "date")}; ${rest}.`;
}

function metricsOf(outputs: readonly ReportedOutput[]): Comparison["metrics"] {
  const row = (
    name: string,
    unit: Comparison["metrics"][number]["unit"],
    better: Comparison["metrics"][number]["better"],
    of: (evidence: OutputEvidence) => number | null | undefined,
  ) => ({ name, unit, better, values: outputs.map(({ common }) => of(common) ?? null) });
  const all = [
    row("IC", "ic", "higher", ({ table }) => table.cross_section.ic_mean),
    row("RankIC", "ic", "higher", ({ table }) => table.cross_section.rank_ic_mean),
    row("R² against zero", "r2", "higher", ({ table }) => table.pooled.r2_zero),
    row("R² against zero, median ticker", "r2", "higher", ({ table }) => table.r2_zero_median),
    row("Hit rate", "coverage", "higher", ({ table }) => table.pooled.hit_rate),
    row("RMSE", "rmse", "lower", ({ table }) => table.pooled.rmse),
    row("Slope of returns on forecasts", "t", "near 1", (evidence) => heldOutSlope(evidence).value),
    row("Coverage minus nominal coverage", "coverage", "near 0", coverageGap),
    row("Interval score", "rmse", "lower", ({ coverage }) => coverage?.pooled.interval_score),
  ];
  return all.filter(({ values }) => values.some((value) => value !== null));
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
  return `Probability that the best of ${names.length} outputs looks this good if none has skill (superior predictive ability, Hansen 2005): ${sentences.join(", ")}. These test one measure each. The adjusted p in the table decides, at most ${LEVEL} for evidence of skill; it counts the tests of both measures, so it may be larger.`;
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
function orderName(form: ComparisonTests["form"]): string {
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
    return `${names[better]} was better than ${names[worse]} by ${by} (t ${figure(Math.abs(t!), "t")}, adjusted p ${pFigure(p)})`;
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
  outputs: readonly ReportedOutput[],
  { confidence, pairs }: ComparisonTests,
): Comparison["choice"] {
  if (outputs.every((output) => stateOf(output) === "too_few")) {
    return {
      index: undefined,
      sentence: "A careful reader chooses none yet: too few realised returns are known.",
    };
  }
  const isSkilled = (output: ReportedOutput) => ["skill", "oversized"].includes(stateOf(output));
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

function comparisonHtml(comparison: Comparison): string {
  const { names, metrics, tests, choice, rowsFinding, leftOut } = comparison;
  const left = leftOut.every((rows) => rows === 0)
    ? ""
    : ` <span class="faint">${escapeText(names.map((name, i) => `${name}: ${countedRows(leftOut[i]!, "row")} excluded`).join("; "))}.</span>`;
  const table = plainTable({
    caption: "metrics on the common rows",
    columns: ["Metric", ...names, ...(names.length === 2 ? ["Difference"] : []), "Better"],
    rows: metrics.map(({ name, unit, better, values }) => [
      name,
      ...values.map((value) => (better === "near 0" ? signedFigure(value, unit) : figure(value, unit))),
      ...(names.length === 2 ? [difference(values, unit)] : []),
      better,
    ]),
  });
  return `<p class="lead">${escapeText(choice.sentence)}</p>
<p>${escapeText(rowsFinding)}${left}</p>
${metrics.length === 0 ? "" : table}
<h3>Against the baselines</h3>
<p>${escapeText(comparison.skillFinding)}</p>
${tests.skill === undefined ? "" : skillTable(comparison, tests.skill)}
<h3>Which may be the best</h3>
<p>${escapeText(comparison.confidenceFinding)}</p>
${tests.confidence === undefined ? "" : confidenceTable(comparison, tests.confidence)}
<h3>Each pair</h3>
<p>${escapeText(comparison.pairsFinding)}</p>
${tests.pairs.length === 0 ? "" : pairsTable(comparison)}`;
}

function difference([first, second]: readonly (number | null)[], unit: ComparedUnit): string {
  return first == null || second == null ? NO_FIGURE : figureDifference(first, second, unit);
}

function skillTable(
  { names, tests: { form } }: Comparison,
  skill: NonNullable<Comparison["tests"]["skill"]>,
): string {
  // No output records the training means of out-of-fold rows.
  const hasMeans = skill.some(({ mean }) => mean !== null);
  return plainTable({
    caption: "tests against the baselines",
    columns: [
      "Output",
      `${capital(orderName(form))}, t`,
      "adjusted p",
      "Sizes against zero, t",
      ...(hasMeans ? ["against the training mean, t"] : []),
      "adjusted p",
    ],
    rows: skill.map(({ order, zero, mean, sizes }, k) => [
      names[k]!,
      figure(order.t, "t"),
      pFigure(order.p),
      figure(zero, "t"),
      ...(hasMeans ? [figure(mean, "t")] : []),
      pFigure(sizes.p),
    ]),
  });
}

function confidenceTable(
  { names, tests: { form } }: Comparison,
  { order, sizes }: NonNullable<Comparison["tests"]["confidence"]>,
): string {
  return plainTable({
    caption: "model confidence sets",
    columns: ["Output", `p by ${orderName(form)}`, "p by squared error"],
    rows: names.map((name, k) => [name, pFigure(order[k]!), pFigure(sizes[k]!)]),
  });
}

function pairsTable({ names, tests: { form, pairs } }: Comparison): string {
  return numbersTable({
    caption: "tests of each pair",
    columns: ["First", "Second", "Measure", "Gain of the first", "t (Newey-West)", "adjusted p"],
    rows: pairs.map(({ first, second, measure, gain, t, p }) => [
      names[first]!,
      names[second]!,
      measure === "order" ? orderName(form) : "squared error",
      figure(gain, measure === "order" ? "ic" : "r2"),
      figure(t, "t"),
      pFigure(p),
    ]),
  });
}

function capital(text: string): string {
  return text.replace(/^./, (letter) => letter.toUpperCase());
}
