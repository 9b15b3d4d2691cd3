import { shownText } from "../../charts/shown-text.ts";
import { countedRows, figure, NO_FIGURE, type Unit } from "../../data/figures.ts";
import type { Comparison, DieboldMarianoTest } from "../../data/report-data.ts";
import { plainTable } from "../numbers-table.ts";

const BETTER = { higher: "more", lower: "less", near: "nearer" } as const;

/** Several outputs on the rows that all have: which one a careful person would take, metrics, tests. */
export function comparisonHtml(comparison: Comparison): string {
  const { names, metrics, tests, choice, rowsFinding, testsFinding, leftOut } = comparison;
  const left = names.map((name, i) => `${name}: ${countedRows(leftOut[i]!, "row")} left out`);
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
  return `<p class="lead">${shownText(choice.sentence)}</p>
<p>${shownText(rowsFinding)} <span class="faint">${shownText(left.join("; "))}.</span></p>
${table}
<h3>Diebold-Mariano tests</h3>
<p>${shownText(testsFinding)}</p>
${tests.length === 0 ? "" : plainTable({ caption: "Diebold-Mariano tests", columns: ["First", "Second", "Measure", "Dates", "Gain of the first", "t (Newey-West)", "p"], rows: tests.map(testRow) })}`;
}

function difference([first, second]: readonly (number | null)[], unit: Unit): string {
  if (first == null || second == null) return NO_FIGURE;
  return figure(first - second, unit === "share" ? "percent" : unit);
}

function testRow({ first, second, measure, dates, gain, t, p }: DieboldMarianoTest): string[] {
  return [
    first,
    second,
    measure,
    figure(dates, "count"),
    figure(gain, "number"),
    figure(t, "number"),
    figure(p, "number"),
  ];
}
