import type { VNode } from "preact";
import type { ForecastView } from "../../client/index.ts";
import { verdictFigures } from "../../contract/output/later-close.ts";
import { figure, type Unit } from "../../view/figures.ts";
import { html } from "../../view/html.ts";
import { table } from "../../view/table.ts";

type Judged = NonNullable<ForecastView["verdict"]>["judged"][number];
type QualityFigure = readonly [name: string, unit: Unit, value: number | null | undefined];

/** Sets of rows that the models did not learn from. */
const SETS = {
  score: "Score rows",
  out_of_fold: "Out-of-fold rows",
  calibration: "Calibration rows",
  validation: "Validation rows",
} as const satisfies Record<Judged["rows"], string>;

type Quality = Pick<ForecastView, "metrics" | "intervals" | "verdict">;

/** Of the held-out rows of networks, the output has only the verdict; outputs of old versions have none. */
function figuresOn(
  rows: keyof typeof SETS,
  { metrics, intervals, verdict }: Quality,
): readonly QualityFigure[] {
  const judged = verdict?.judged.find((set) => set.rows === rows);
  const quality = rows === "score" || rows === "out_of_fold" ? metrics[rows] : undefined;
  if (judged === undefined && !quality?.pooled.n) return [];
  const { ic, r2 } = judged === undefined ? {} : verdictFigures(judged);
  const hasRankIc = judged?.order.form === "cross_section";
  return [
    ["Rows", "count", quality?.pooled.n],
    ["R²", "r2", r2],
    ["R² against the training mean", "r2", judged?.sizes.against.mean.r2],
    ["IC", "ic", ic],
    ["RankIC", "ic", hasRankIc ? quality?.cross_section.rank_ic_mean : undefined],
    ["IC beyond beta, volatility and past returns", "ic", quality?.exposures?.residual.ic_mean],
    ["Hit rate", "coverage", quality?.pooled.hit_rate],
    ["Up days", "coverage", quality?.pooled.up_share],
    ["Coverage", "coverage", rows === "score" ? intervals?.pooled.coverage : judged?.intervals?.figure],
  ];
}

/** The figures of the forecasts of all tickers, by set of rows; a figure that no set has is left out. */
export function qualityFigures(view: Quality) {
  const sets = Object.entries(SETS).flatMap(([rows, name]) => {
    const figures = figuresOn(rows as keyof typeof SETS, view);
    return figures.length === 0 ? [] : [{ name, figures }];
  });
  const rows = (sets[0]?.figures ?? []).flatMap(([name, unit], i) => {
    const values = sets.map(({ figures }) => figures[i]![2]);
    return values.every((value) => value == null)
      ? []
      : [{ name, values: values.map((value) => figure(value, unit)) }];
  });
  return { columns: sets.map(({ name }): string => name), rows };
}

/** How good the forecasts of all tickers were, on each set of rows that the models did not learn from. */
export function qualityTable(view: ForecastView): VNode | undefined {
  const { columns, rows } = qualityFigures(view);
  if (columns.length === 0) return undefined;
  return html`<h3>Quality</h3>
    <p>On rows that the models did not learn from, all tickers together. R² is against a forecast of zero and gives each ticker the
      same weight. The IC needs five tickers on a date.</p>
    ${table<(typeof rows)[number]>({
      name: "Quality",
      columns: [
        ["Figure", "text", ({ name }) => name],
        ...columns.map((title, i) => ({ title, cell: ({ values }: (typeof rows)[number]) => values[i] })),
      ],
      rows,
    })}`;
}
