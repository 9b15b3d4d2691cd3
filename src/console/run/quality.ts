import type { VNode } from "preact";
import type { ForecastView } from "../../client/index.ts";
import { closeTitle, orderBands, verdictFigures } from "../../contract/output/later-close.ts";
import { bandFigure, figure, NO_FIGURE, type Unit } from "../../view/figures.ts";
import { html } from "../../view/html.ts";
import { table } from "../../view/table.ts";

type Quality = ForecastView["metrics"]["score"];
type Judged = NonNullable<ForecastView["verdict"]>["judged"][number];

/** A set of rows that the models did not learn from. */
interface QualityRows {
  /** Absent for the held-out rows of networks, of which the output has only the verdict. */
  readonly quality: Quality | undefined;
  /** Absent in outputs of old versions. */
  readonly judged: Judged | undefined;
  /** The share of labels inside their intervals. */
  readonly coverage: number | null | undefined;
}

type QualityRow = readonly [
  name: string,
  unit: Unit,
  value: (rows: QualityRows) => number | null | undefined,
];

const ROWS: readonly QualityRow[] = [
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
  const rows = ROWS.map(([name, unit, value]) => ({ name, unit, values: sets.map(value) }));
  return {
    columns: sets.map(({ name }): string => name),
    rows: rows
      .filter(({ values }) => values.some((value) => value !== null && value !== undefined))
      .map(({ name, unit, values }) => ({ name, values: values.map((value) => figure(value, unit)) })),
  };
}

/** How good the forecasts of all tickers were, on each set of rows that the models did not learn from. */
export function qualityTables(view: ForecastView): VNode | undefined {
  const { columns, rows } = qualityFigures(view);
  if (columns.length === 0) return undefined;
  const { score, out_of_fold: outOfFold } = view.metrics;
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
    })}
    ${closesTable("Score rows", score)}
    ${outOfFold !== undefined && closesTable("Out-of-fold rows", outOfFold)}`;
}

/** What the order of a set of rows is worth by the close of the trade; nothing for outputs of older versions. */
function closesTable(set: string, { by_delay: orders = [] }: Quality): VNode | undefined {
  if (orders.every(({ dates, delay }) => dates === 0 || delay === 0)) return undefined;
  type Order = (typeof orders)[number];
  const isOverTime = orders.some(({ order_mean }) => order_mean !== undefined);
  const name = `By the close of the trade, ${set.toLowerCase()}`;
  const band = (order: Order) => {
    const { order: found } = orderBands(order);
    return found === null ? NO_FIGURE : bandFigure(found, "ic");
  };
  return html`<h3>${name}</h3>
    ${table<Order>({
      name,
      columns: [
        { title: "Trade", cell: ({ delay }) => closeTitle(delay) },
        isOverTime
          ? { title: "Order over time, deviations", cell: ({ order_mean }) => figure(order_mean, "ic") }
          : { title: "Mean IC", cell: ({ ic_mean }) => figure(ic_mean, "ic") },
        { title: "90 % band", cell: band },
        ...(isOverTime
          ? []
          : [{ title: "Net of 5 bp", cell: ({ net_5bp }: Order) => figure(net_5bp && net_5bp / 1e4, "mu") }]),
      ],
      // That of the same close is the IC above.
      rows: orders.filter(({ delay }) => delay > 0),
    })}`;
}
