import type { VNode } from "preact";
import type { ForecastView } from "../../client/index.ts";
import { verdictFigures } from "../../contract/output/later-close.ts";
import { figure, type Unit } from "../../view/figures.ts";
import { html } from "../../view/html.ts";
import { table } from "../../view/table.ts";

type Judged = NonNullable<ForecastView["verdict"]>["judged"][number];

/** A set of rows that the models did not learn from. */
interface QualityRows {
  /** Absent for the held-out rows of networks, of which the output has only the verdict. */
  readonly quality: ForecastView["metrics"]["score"] | undefined;
  /** Absent in outputs of old versions. */
  readonly judged: Judged | undefined;
  /** The share of labels inside their intervals. */
  readonly coverage: number | null | undefined;
}

const ROWS: readonly (readonly [
  name: string,
  unit: Unit,
  value: (rows: QualityRows) => number | null | undefined,
])[] = [
  ["Rows", "count", ({ quality }) => quality?.pooled.n],
  ["R²", "r2", ({ judged }) => judged && verdictFigures(judged).r2],
  ["R² against the training mean", "r2", ({ judged }) => judged?.sizes.against.mean.r2],
  ["IC", "ic", ({ judged }) => judged && verdictFigures(judged).ic],
  [
    "RankIC",
    "ic",
    ({ judged, quality }) =>
      judged?.order.form === "cross_section" ? quality?.cross_section.rank_ic_mean : undefined,
  ],
  [
    "IC beyond beta, volatility and past returns",
    "ic",
    ({ quality }) => quality?.exposures?.residual.ic_mean,
  ],
  ["Hit rate", "coverage", ({ quality }) => quality?.pooled.hit_rate],
  ["Up days", "coverage", ({ quality }) => quality?.pooled.up_share],
  ["Coverage", "coverage", ({ coverage }) => coverage],
];

const SETS = {
  score: "Score rows",
  out_of_fold: "Out-of-fold rows",
  calibration: "Calibration rows",
  validation: "Validation rows",
} as const satisfies Record<Judged["rows"], string>;

/** The figures of the forecasts of all tickers, by set of rows. */
export function qualityFigures({
  metrics,
  intervals,
  verdict,
}: Pick<ForecastView, "metrics" | "intervals" | "verdict">) {
  const sets = Object.entries(SETS).flatMap(([rows, name]) => {
    const judged = verdict?.judged.find((set) => set.rows === rows);
    const quality = rows === "score" || rows === "out_of_fold" ? metrics[rows] : undefined;
    if (judged === undefined && (quality === undefined || quality.pooled.n === 0)) return [];
    const coverage = rows === "score" ? intervals?.pooled.coverage : judged?.intervals?.figure;
    return [{ name, quality, judged, coverage }];
  });
  const rows = ROWS.flatMap(([name, unit, value]) => {
    const values = sets.map(value);
    return values.every((each) => each == null)
      ? []
      : [{ name, values: values.map((each) => figure(each, unit)) }];
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
        { title: "Figure", cell: ({ name }) => name },
        ...columns.map((title, i) => ({ title, cell: ({ values }: (typeof rows)[number]) => values[i] })),
      ],
      rows,
    })}`;
}
