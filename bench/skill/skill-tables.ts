import type { Table } from "../table.ts";
import { COSTS_BP } from "./score-forecasts.ts";
import type { Comparison, ScoredRow } from "./scored-rows.ts";
import type { SkillOptions } from "./skill-options.ts";

/** How good each row's forecasts are, and what they cost. */
export function skillTable(scored: readonly ScoredRow[], { cut, until }: SkillOptions): Table {
  const [first] = scored;
  return {
    title: `trained to ${cut}, judged ${until === undefined ? "" : `until ${until} `}on ${first?.rows} rows of ${first?.dates} dates; spread: top minus bottom fifth, bp per day`,
    header: [
      "",
      "by",
      "IC (t)",
      "RankIC (t)",
      "R² zero",
      "R² mean",
      "spread (t)",
      "turnover",
      ...COSTS_BP.map((cost) => `net at ${cost} bp`),
      "seconds",
      "processor s",
    ],
    rows: scored.map((row) => [
      row.name,
      row.by,
      withT(row.ic, row.icT, 4),
      withT(row.rankIc, row.rankIcT, 4),
      percent(row.r2Zero, 2),
      percent(row.r2Mean, 2),
      withT(row.spread, row.spreadT, 1),
      percent(row.turnover, 0),
      ...row.net.map((net) => fixed(net, 1)),
      fixed(row.seconds, 1),
      fixed(row.processorSeconds, 1),
    ]),
  };
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
