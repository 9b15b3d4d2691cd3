import type { DelayedOrder } from "../../src/contract/output/metrics-schemas.ts";
import type { Table } from "../bench.ts";
import type { Comparison, ScoredRow } from "./scored-rows.ts";
import type { SkillOptions } from "./skill-options.ts";

/** How good each row's forecasts are at the close of its labels and one close later, and what they cost. */
export function skillTables(scored: readonly ScoredRow[], { cut, until, delay }: SkillOptions): Table[] {
  const what = `trained to ${cut}${until === undefined ? "" : `, until ${until}`}`;
  const closes = ["the row's own close", "the close one date later", "the close two dates later"];
  const close = (steps: number) => closes[delay + steps] ?? `the close ${delay + steps} dates later`;
  return [
    {
      title: `${what}; trades at ${close(0)}, ${scored[0]?.close.dates} dates; spread: top minus bottom fifth, bp a day`,
      header: ["", "by", ...ORDER, "R² zero", "R² mean", "processor s"],
      rows: scored.map((row) => [
        row.name,
        row.by,
        ...orderCells(row.close),
        percent(row.r2Zero, 2),
        percent(row.r2Mean, 2),
        fixed(row.processorSeconds, 0),
      ]),
    },
    {
      title: `${what}; the same forecasts, trades at ${close(1)}, ${scored[0]?.later.dates} dates`,
      header: ["", "by", ...ORDER],
      rows: scored.map((row) => [row.name, row.by, ...orderCells(row.later)]),
    },
  ];
}

const ORDER = [
  "IC (t)",
  "RankIC (t)",
  "spread (t)",
  "turnover",
  "net at 1 bp",
  "at 5 bp a side (t)",
  "at 10 bp",
];

function orderCells(order: DelayedOrder): string[] {
  return [
    withT(order.ic_mean, order.ic_t, 4),
    withT(order.rank_ic_mean, order.rank_ic_t, 4),
    withT(order.spread_mean, order.spread_t, 1),
    percent(order.turnover, 0),
    fixed(order.net_1bp, 1),
    withT(order.net_5bp, order.net_5bp_t ?? null, 1),
    fixed(order.net_10bp, 1),
  ];
}

/** Rows minus another one, date by date. */
export function differenceTable(comparisons: readonly Comparison[]): Table {
  return {
    title: "differences of IC, date by date; t is that of the difference",
    header: ["", "minus", "dates", "IC (t)", "RankIC (t)"],
    rows: comparisons.map(({ name, than, dates, ic, icT, rankIc, rankIcT }) => [
      ...[name, than, `${dates}`],
      ...[withT(ic, icT, 4), withT(rankIc, rankIcT, 4)],
    ]),
  };
}

function withT(value: number | null, t: number | null, digits: number): string {
  return `${fixed(value, digits)} (${fixed(t, 1)})`;
}

function percent(share: number | null, digits: number): string {
  return share === null ? "" : `${(100 * share).toFixed(digits)} %`;
}

function fixed(value: number | null, digits: number): string {
  return value === null ? "" : value.toFixed(digits);
}
