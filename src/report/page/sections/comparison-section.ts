import { escapeText } from "../../charts/escape-text.ts";
import { orderName } from "../../data/comparison.ts";
import { countedRows, figure, NO_FIGURE, pFigure, type Unit } from "../../data/figures.ts";
import type { Comparison } from "../../data/report-data.ts";
import { numbersTable, plainTable } from "../numbers-table.ts";

const BETTER = { higher: "more", lower: "less", near: "nearer" } as const;

/** Several outputs on the rows that all of them have: which one a careful person would choose, metrics, tests. */
export function comparisonHtml(comparison: Comparison): string {
  const { names, metrics, tests, choice, rowsFinding, leftOut } = comparison;
  const left = names.map((name, i) => `${name}: ${countedRows(leftOut[i]!, "row")} excluded`);
  const table = plainTable({
    caption: "metrics on the common rows",
    columns: ["Metric", ...names, ...(names.length === 2 ? ["Difference"] : []), "Better is"],
    rows: metrics.map(({ name, unit, better, values }) => [
      name,
      ...values.map((value) => figure(value, unit)),
      ...(names.length === 2 ? [difference(values, unit)] : []),
      BETTER[better],
    ]),
  });
  return `<p class="lead">${escapeText(choice.sentence)}</p>
<p>${escapeText(rowsFinding)} <span class="faint">${escapeText(left.join("; "))}.</span></p>
${table}
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

function difference([first, second]: readonly (number | null)[], unit: Unit): string {
  if (first == null || second == null) return NO_FIGURE;
  return figure(first - second, unit === "share" ? "percent" : unit);
}

function skillTable(
  { names, tests: { form } }: Comparison,
  skill: NonNullable<Comparison["tests"]["skill"]>,
): string {
  return plainTable({
    caption: "tests against the baselines",
    columns: [
      "Output",
      `${capital(orderName(form))}, t`,
      "adjusted p",
      "Sizes against zero, t",
      "against the training mean, t",
      "adjusted p",
    ],
    rows: skill.map(({ order, zero, mean, sizes }, k) => [
      names[k]!,
      figure(order.t, "number"),
      pFigure(order.p),
      figure(zero, "number"),
      figure(mean, "number"),
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
      figure(gain, measure === "order" ? "number" : "percent"),
      figure(t, "number"),
      pFigure(p),
    ]),
  });
}

function capital(text: string): string {
  return text.replace(/^./, (letter) => letter.toUpperCase());
}
