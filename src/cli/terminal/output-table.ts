import type { OutputSummary } from "../../outputs/output-summary.ts";
import { table } from "./table.ts";

/** An output under the name of its column. */
export interface ShownOutput {
  readonly name: string;
  readonly output: Pick<OutputSummary, "mu" | "window" | "metrics" | "warnings">;
  /** Further rows of the column, the same ones for each output. */
  readonly more?: readonly Cell[];
}

type Cell = readonly [label: string, value: string];

/** What outputs are worth, one column each, as text for a terminal: figures of the score rows, beside those that any model has to beat. */
export function outputTable(outputs: readonly ShownOutput[]): string {
  const columns = outputs.map(({ output, more = [] }) => [...cellsOf(output), ...more]);
  const labels = columns[0]!.map(([label]) => label);
  const rows = labels.map((label, i) => [label, ...columns.map((column) => column[i]![1])]);
  return table(["", ...outputs.map(({ name }) => name)], rows);
}

function cellsOf({ mu, window, metrics, warnings }: ShownOutput["output"]): Cell[] {
  const { score, intervals, baselines } = metrics;
  const { cross_section: across, pooled } = score;
  const { zero, mean } = baselines;
  return [
    ["tickers with a forecast", `${Object.keys(mu).length} as of ${window.as_of}`],
    ["rows scored, with labels", String(pooled.n)],
    ["dates with an IC", String(across.dates)],
    ["IC, mean of the dates", figure(across.ic_mean)],
    ["RankIC", figure(across.rank_ic_mean)],
    ["hit rate", percent(pooled.hit_rate)],
    ["  its standard error", percent(pooled.hit_rate_se)],
    ["  share of up days", percent(pooled.up_share)],
    ["  of the historical mean", percent(mean.score.pooled.hit_rate)],
    ["RMSE", figure(pooled.rmse)],
    ["  of the zero forecast", figure(zero.score.pooled.rmse)],
    ["coverage asked", percent(intervals && 1 - intervals.alpha)],
    ["  got", percent(intervals?.pooled.coverage)],
    ["  got by split intervals", percent(intervals?.other_methods?.split?.pooled.coverage)],
    ["says no_skill", warnings.some(({ code }) => code === "no_skill") ? "yes" : "no"],
  ];
}

function percent(share: number | null | undefined): string {
  return share == null ? "-" : `${(100 * share).toFixed(1)} %`;
}

function figure(value: number | null): string {
  return value === null ? "-" : value.toFixed(4);
}
