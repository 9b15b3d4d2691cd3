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
  wholePercent,
} from "../../view/figures.ts";
import { html } from "../../view/html.ts";
import { type ColumnSpec, numbers, table } from "../../view/table.ts";
import { sentence } from "../../view/text.ts";
import { judgedSet, type OutputEvidence, slopeOf } from "../evidence/output-evidence.ts";
import type { PairedDifference, PairedDifferences } from "../evidence/paired-differences.ts";
import { type Report, type ReportedOutput, stateOf } from "../evidence/reported-outputs.ts";
import type { Section } from "../section.ts";

const BAND = `${wholePercent(95)} band`;

/** Several outputs on the rows that all of them have: which show skill, metrics, and how each pair differs. */
export const comparisonSection: Section = {
  id: "comparison",
  title: "Side by side",
  render: (report) => {
    const { outputs, differences } = report;
    if (differences === undefined) return undefined;
    const names = outputs.map(({ name }) => name);
    const metrics = metricsOf(outputs);
    const isPair = names.length === 2;
    const { rows, excluded } = rowsSentences(report);
    return html`<p class="lead">${sentence(skillSentence(outputs))}</p>
      <p>${sentence(rows)}${excluded && html` <span class="faint">${sentence(excluded)}</span>`}</p>
      ${
        metrics.length > 0 &&
        table({
          name: "metrics on the common rows",
          rows: metrics,
          columns: [
            ["Metric", "text", ({ name }) => name],
            ...names.map(
              (name, k): ColumnSpec<Metric> => [
                name,
                "text",
                ({ unit, better, values }) =>
                  better === "near 0" ? signedFigure(values[k]!, unit) : figure(values[k], unit),
              ],
            ),
            isPair && ["Difference", "text", differenceOf],
            ["Better", "text", ({ better }) => better],
          ],
        })
      }
      <h3>Each pair</h3>
      <p>${sentence(pairsSentence(differences, names))}</p>
      ${
        differences.pairs.length > 0 &&
        numbers({
          name: "differences of each pair",
          rows: differences.pairs,
          columns: [
            ["First", "text", ({ first }) => names[first]!],
            ["Second", "text", ({ second }) => names[second]!],
            ["Measure", "text", ({ measure }) => measureName(measure, differences)],
            ["Gain of the first", "text", ({ gain, measure }) => figureDifference(gain, UNITS[measure])],
            [
              BAND,
              "text",
              ({ band, measure }) => (band === null ? NO_FIGURE : bandText(band, UNITS[measure])),
            ],
          ],
        })
      }`;
  },
};

export function rowsSentences({ outputs }: Report): { readonly rows: string; readonly excluded: string } {
  const { table: shared, dateCount, labelled, judgedRows } = outputs[0]!.common;
  const { n } = shared.pooled;
  const tickers = labelled.filter(({ days }) => days.length > 0).length;
  const leftOut = outputs.map(({ whole: { table: all, outOfFold = [] } }) => {
    const known =
      judgedRows === "score" ? all.pooled.n : outOfFold.reduce((sum, { days }) => sum + days.length, 0);
    return known - n;
  });
  const most = Math.max(...leftOut);
  const rest =
    most === 0 ? "no rows are excluded" : `up to ${countedRows(most, "row")} per output are excluded`;
  const kind = judgedRows === "score" ? "row" : "out-of-fold row";
  const each = outputs.map(({ name }, i) => `${name}: ${countedRows(leftOut[i]!, "row")} excluded`);
  return {
    rows: `The outputs share ${countedRows(n, kind)} with realised returns, for ${countedRows(tickers, "ticker")} on ${countedRows(dateCount, "date")}; ${rest}.`,
    excluded: most === 0 ? "" : `${each.join("; ")}.`,
  };
}

interface Metric {
  readonly name: string;
  readonly unit: ComparedUnit;
  /** Which of two values is better. */
  readonly better: "higher" | "lower" | "near 0" | "near 1";
  readonly values: readonly (number | null)[];
}

export function metricsOf(outputs: readonly ReportedOutput[]): Metric[] {
  const judged = (evidence: OutputEvidence) => {
    const set = judgedSet(evidence);
    return set && verdictFigures(set);
  };
  const gap = ({ document: { metrics }, coverage }: OutputEvidence) =>
    metrics.intervals && coverage?.pooled.coverage != null
      ? coverage.pooled.coverage - (1 - metrics.intervals.alpha)
      : null;
  const all: readonly (readonly [
    ...[name: string, unit: ComparedUnit, better: Metric["better"]],
    of: (evidence: OutputEvidence) => number | null | undefined,
  ])[] = [
    ["IC", "ic", "higher", (evidence) => judged(evidence)?.ic],
    ["RankIC", "ic", "higher", ({ dates }) => finiteOrNull(mean(dates.rankIc))],
    ["R²", "r2", "higher", (evidence) => judged(evidence)?.r2],
    ["R², median ticker", "r2", "higher", (evidence) => evidence.table.r2_zero_median],
    ["Hit rate", "coverage", "higher", (evidence) => evidence.table.pooled.hit_rate],
    ["RMSE", "rmse", "lower", (evidence) => evidence.table.pooled.rmse],
    ["Slope before shrinkage", "t", "near 1", ({ document }) => slopeOf(document).value],
    ["Coverage minus nominal coverage", "coverage", "near 0", gap],
    ["Interval score", "rmse", "lower", ({ coverage }) => coverage?.pooled.interval_score],
  ];
  return all
    .map(([name, unit, better, of]) => {
      return { name, unit, better, values: outputs.map(({ common }) => of(common) ?? null) };
    })
    .filter(({ values }) => values.some((value) => value !== null));
}

function differenceOf({ values: [first, second], unit }: Metric): string {
  return first == null || second == null ? NO_FIGURE : figureDifference(first - second, unit);
}

export function skillSentence(outputs: readonly ReportedOutput[]): string {
  const states = outputs.map(stateOf);
  if (states.every((state) => state === "too_few"))
    return "Too few realised returns are known to compare the outputs.";
  const skilled = outputs.filter((_, i) => ["skill", "oversized"].includes(states[i]!));
  if (skilled.length === 0) return "No output shows evidence of skill on the common rows.";
  const names = skilled.map(({ name }) => name).join(", ");
  return `${skilled.length} of ${countedRows(outputs.length, "output")} ${skilled.length === 1 ? "shows" : "show"} evidence of skill on the common rows: ${names}. Each is judged on its own. By chance alone, one of several outputs looks good more often than one output does, and the best of several will do a little worse than its figures.`;
}

const UNITS = { order: "ic", "squared error": "r2" } as const;

function measureName(measure: PairedDifference["measure"], { form }: PairedDifferences): string {
  if (measure !== "order") return measure;
  return form === "cross_section" ? "IC" : "return on the side of the forecast";
}

function bandText({ low, high }: Band, unit: ComparedUnit): string {
  return `${figureDifference(low, unit)} to ${figureDifference(high, unit)}`;
}

/** More pairs in one sentence do not help: the table has them all. */
const MAX_PAIRS = 3;

export function pairsSentence(differences: PairedDifferences, names: readonly string[]): string {
  const { pairs, dates } = differences;
  if (dates === 0) return "There are no common rows with realised returns to compare.";
  if (pairs.length === 0)
    return `${countedRows(dates, "date")} are too few to tell the outputs apart; at least ${MIN_DATES} are needed.`;
  const clear = pairs.filter(({ band }) => band !== null && (band.low > 0 || band.high < 0));
  if (clear.length === 0)
    return `The ${BAND} of every difference between ${names.length === 2 ? "the two outputs" : "two outputs"} contains 0.`;
  // How far a difference is from 0, in halves of its band.
  const clarity = ({ gain, band }: PairedDifference) => Math.abs(gain) / (band!.high - band!.low);
  const clearest = clear.toSorted((a, b) => clarity(b) - clarity(a)).slice(0, MAX_PAIRS);
  const sentences = clearest.map(({ measure, first, second, gain, band }) => {
    const [better, worse] = gain > 0 ? [first, second] : [second, first];
    const shown = gain > 0 ? band! : { low: -band!.high, high: -band!.low };
    return `${names[better]} is better than ${names[worse]} by ${measureName(measure, differences)} (${figureDifference(Math.abs(gain), UNITS[measure])}, band ${bandText(shown, UNITS[measure])})`;
  });
  const all =
    pairs.length > 2
      ? `${clear.length} of ${countedRows(pairs.length, "difference")} have a ${BAND} without 0; by chance alone, about one in twenty has. `
      : "";
  return `${all}${sentences.join("; ")}.`;
}
