import { verdictFigures } from "../../contract/output/later-close.ts";
import { type Band, MIN_DATES } from "../../contract/output/test-quantile.ts";
import { finiteOrNull, mean } from "../../evaluate/statistics.ts";
import {
  type ComparedUnit,
  countedRows,
  figure,
  figureDifference,
  NO_FIGURE,
  signedFigure,
} from "../../view/figures.ts";
import { escapeText } from "../charts/plot.ts";
import { heldOutSlope } from "../evidence/held-out-slope.ts";
import { judgedSet, type OutputEvidence } from "../evidence/output-evidence.ts";
import type { PairedDifference, PairedDifferences } from "../evidence/paired-differences.ts";
import { type Report, type ReportedOutput, stateOf } from "../evidence/reported-outputs.ts";
import { numbersTable, plainTable } from "../panels/panel.ts";
import type { Section } from "../panels/section.ts";

/** Several outputs on the rows that all of them have: which show skill, metrics, and how each pair differs. */
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
  readonly differences: PairedDifferences;
  readonly skillFinding: string;
  readonly pairsFinding: string;
}

/** @returns undefined for one output. */
export function comparisonOf({ outputs, differences }: Report): Comparison | undefined {
  if (differences === undefined) return undefined;
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
    differences,
    skillFinding: skillFinding(outputs),
    pairsFinding: pairsFinding(differences, names),
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
    row("IC", "ic", "higher", (evidence) => figuresOf(evidence)?.ic),
    row("RankIC", "ic", "higher", ({ dates }) => finiteOrNull(mean(dates.rankIc))),
    row("R²", "r2", "higher", (evidence) => figuresOf(evidence)?.r2),
    row("R², median ticker", "r2", "higher", ({ table }) => table.r2_zero_median),
    row("Hit rate", "coverage", "higher", ({ table }) => table.pooled.hit_rate),
    row("RMSE", "rmse", "lower", ({ table }) => table.pooled.rmse),
    row("Slope before shrinkage", "t", "near 1", (evidence) => heldOutSlope(evidence).value),
    row("Coverage minus nominal coverage", "coverage", "near 0", coverageGap),
    row("Interval score", "rmse", "lower", ({ coverage }) => coverage?.pooled.interval_score),
  ];
  return all.filter(({ values }) => values.some((value) => value !== null));
}

function figuresOf(evidence: OutputEvidence): ReturnType<typeof verdictFigures> | undefined {
  const judged = judgedSet(evidence);
  return judged && verdictFigures(judged);
}

function coverageGap({ document, coverage }: OutputEvidence): number | null {
  const held = coverage?.pooled.coverage ?? null;
  const { intervals } = document.metrics;
  return held === null || intervals === null ? null : held - (1 - intervals.alpha);
}

/** A sentence on the badges of all outputs. */
function skillFinding(outputs: readonly ReportedOutput[]): string {
  if (outputs.every((output) => stateOf(output) === "too_few")) {
    return "Too few realised returns are known to compare the outputs.";
  }
  const skilled = outputs.filter((output) => ["skill", "oversized"].includes(stateOf(output)));
  if (skilled.length === 0) return "No output shows evidence of skill on the common rows.";
  const names = skilled.map(({ name }) => name).join(", ");
  return `${skilled.length} of ${countedRows(outputs.length, "output")} ${skilled.length === 1 ? "shows" : "show"} evidence of skill on the common rows: ${names}. Each is judged on its own. By chance alone, one of several outputs looks good more often than one output does, and the best of several will do a little worse than its figures.`;
}

/** The name of the measure of order, in words. */
function orderName(form: PairedDifferences["form"]): string {
  return form === "cross_section" ? "IC" : "return on the side of the forecast";
}

function pairsFinding({ pairs, dates, form }: PairedDifferences, names: readonly string[]): string {
  if (dates === 0) return "There are no common rows with realised returns to compare.";
  if (pairs.length === 0) {
    return `${countedRows(dates, "date")} are too few to tell the outputs apart; at least ${MIN_DATES} are needed.`;
  }
  const clear = pairs.filter(isClear);
  if (clear.length === 0) {
    return `The 95\u202f% band of every difference between ${names.length === 2 ? "the two outputs" : "two outputs"} contains 0.`;
  }
  const clearest = [...clear].sort((a, b) => errorsFrom0(b) - errorsFrom0(a)).slice(0, MAX_PAIRS);
  const sentences = clearest.map(({ measure, first, second, gain, band }) => {
    const isFirst = gain > 0;
    const [better, worse] = isFirst ? [first, second] : [second, first];
    const by = measure === "order" ? orderName(form) : measure;
    const shown = isFirst ? band! : { low: -band!.high, high: -band!.low };
    return `${names[better]} is better than ${names[worse]} by ${by} (${figureDifference(Math.abs(gain), UNITS[measure])}, band ${bandDifference(shown, UNITS[measure])})`;
  });
  const all =
    pairs.length > 2
      ? `${figure(clear.length, "count")} of ${countedRows(pairs.length, "difference")} have a 95\u202f% band without 0; by chance alone, about one in twenty has. `
      : "";
  return `${all}${sentences.join("; ")}.`;
}

function bandDifference({ low, high }: Band, unit: ComparedUnit): string {
  return `${figureDifference(low, unit)} to ${figureDifference(high, unit)}`;
}

/** More pairs in one sentence do not help: the table has them all. */
const MAX_PAIRS = 3;

const UNITS = { order: "ic", "squared error": "r2" } as const;

function isClear({ band }: PairedDifference): boolean {
  return band !== null && (band.low > 0 || band.high < 0);
}

/** How far a difference is from 0, in halves of its band. */
function errorsFrom0({ gain, band }: PairedDifference): number {
  return Math.abs(gain) / (band!.high - band!.low);
}

function comparisonHtml(comparison: Comparison): string {
  const { names, metrics, differences, rowsFinding, leftOut } = comparison;
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
  return `<p class="lead">${escapeText(comparison.skillFinding)}</p>
<p>${escapeText(rowsFinding)}${left}</p>
${metrics.length === 0 ? "" : table}
<h3>Each pair</h3>
<p>${escapeText(comparison.pairsFinding)}</p>
${differences.pairs.length === 0 ? "" : pairsTable(comparison)}`;
}

function difference([first, second]: readonly (number | null)[], unit: ComparedUnit): string {
  return first == null || second == null ? NO_FIGURE : figureDifference(first - second, unit);
}

function pairsTable({ names, differences: { form, pairs } }: Comparison): string {
  return numbersTable({
    caption: "differences of each pair",
    columns: ["First", "Second", "Measure", "Gain of the first", "95\u202f% band"],
    rows: pairs.map(({ first, second, measure, gain, band }) => [
      names[first]!,
      names[second]!,
      measure === "order" ? orderName(form) : "squared error",
      figureDifference(gain, UNITS[measure]),
      band === null ? NO_FIGURE : bandDifference(band, UNITS[measure]),
    ]),
  });
}
