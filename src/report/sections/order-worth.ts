import { closeName, closeTitle, orderBands } from "../../contract/output/later-close.ts";
import type { DelayedOrder } from "../../contract/output/metrics-schemas.ts";
import { bandFromT, datesQuantile, meanMethod } from "../../contract/output/test-quantile.ts";
import { costOf, type DateOrder, ordersAcross, ordersByDate } from "../../evaluate/delayed-order.ts";
import { asRanked, concatenate } from "../../evaluate/forecast-rows.ts";
import { smoothForecasts } from "../../evaluate/smoothing.ts";
import { mean } from "../../evaluate/statistics.ts";
import { columnsOf, whiskersOf } from "../../view/chart.ts";
import { bandFigure, countedRows, figure, type Unit, wholePercent } from "../../view/figures.ts";
import { html } from "../../view/html.ts";
import { type ColumnSpec, numbers } from "../../view/table.ts";
import { type OutputEvidence, whyNoOrder } from "../evidence/output-evidence.ts";
import type { ReportedOutput } from "../evidence/reported-outputs.ts";
import { absent, linesOverDates, panelSection, type ReportPanel } from "../section.ts";
import { horizonSkill } from "../statistics/horizon-skill.ts";
import { type Band, meanBand } from "../statistics/over-dates.ts";
import { cumulative } from "../statistics/running-sums.ts";

const BASIS_POINT = 1e-4;
const BAND = `${wholePercent(95)} band`;

export const orderSection = panelSection({
  id: "order",
  title: "Value of the order",
  short: "Order",
  isByRows: true,
  needsReturns: true,
  lead: leadOf,
  panels: ({ common }) => {
    const dates = ordersByDate(common.rows.map(asRanked), [0])[0]!;
    if (common.dates.days.length === 0 || dates.length === 0) return absent("Order", whyNoOrder(common));
    return [
      fifthsPanel(dates),
      spreadPanel(dates),
      horizonsPanel(common),
      ...halfLifePanels(common),
      ...exposurePanels(common),
    ];
  },
});

function leadOf(outputs: readonly ReportedOutput[]) {
  const orders = outputs.flatMap(({ common }) => common.document.metrics[common.judgedRows]?.by_delay ?? []);
  // Outputs with different delays are refused.
  const delay = outputs[0]?.common.document.window.delay ?? 0;
  const close =
    delay === 0
      ? "at the very close from which the forecasts are made, which a job that starts after it cannot reach"
      : `${closeName(delay)} than the one from which the forecasts are made`;
  return html`Returns are simple returns, because they measure how money grows. Trades are ${close}.${
    orders.length > 0 && html` The table <a href="#verdict">by close</a> has later closes.`
  }`;
}

interface Mean {
  /** In the table, and below the column unless it has a label. */
  readonly name: string;
  readonly label?: string;
  readonly dates: number;
  readonly mean: number;
  readonly band: Band | null;
}

/** Columns with their bands. @param headings of the names and of the means. */
function meansPanel(
  panel: Pick<ReportPanel, "title" | "sentence">,
  unit: Unit,
  meaning: string,
  headings: readonly [name: string, mean: string],
  means: readonly Mean[],
): ReportPanel {
  return {
    ...panel,
    chart: {
      x: { names: means.map(({ name, label = name }) => label) },
      y: { unit },
      marks: [
        columnsOf(
          "bar",
          means.map((one) => one.mean),
          { meaning },
        ),
        whiskersOf(
          means.map(({ band }) => band),
          `its ${BAND}`,
        ),
      ],
    },
    numbers: numbers({
      name: panel.title,
      rows: means,
      columns: [
        [headings[0], "text", ({ name }) => name],
        ["Dates", "count", ({ dates }) => dates],
        [headings[1], unit, (one) => one.mean],
        [BAND, "band", unit, ({ band }) => band],
      ],
    }),
  };
}

/** The dates of the table by close, so that its spread is the last column less the first. */
function fifthsPanel(dates: readonly DateOrder[]): ReportPanel {
  const means = ["lowest", "2", "3", "4", "highest"].flatMap((name, fifth): Mean[] => {
    const returns = Float64Array.from(dates.flatMap((date) => date.returns[fifth]!)).filter(
      (value) => !Number.isNaN(value),
    );
    if (returns.length === 0) return [];
    return [{ name, dates: returns.length, mean: mean(returns), band: meanBand(returns) }];
  });
  const rising = means.slice(1).filter((one, i) => one.mean > means[i]!.mean).length;
  const sentence = `Tickers with the highest forecasts returned ${figure(means.at(-1)!.mean, "return")} a day, those with the lowest ${figure(means[0]!.mean, "return")}. The return rose in ${rising} of ${countedRows(means.length - 1, "step")} from one fifth to the next.`;
  const panel = { title: "Return by fifth of the forecasts", sentence };
  return meansPanel(panel, "return", "mean realised simple return a day", ["Fifth", "Return"], means);
}

const COST = 5;

function spreadPanel(dates: readonly DateOrder[]): ReportPanel {
  const days = Int32Array.from(dates, ({ day }) => day);
  const spread = Float64Array.from(dates, (date) => date.spread * BASIS_POINT);
  const net = Float64Array.from(dates, (date) => (date.spread - costOf(date, COST)) * BASIS_POINT);
  const [sums, netSums] = [cumulative(spread), cumulative(net)];
  const band = meanBand(spread);
  const within = band === null ? "" : ` (${BAND} ${bandFigure(band, "mu")})`;
  const costs = `${COST} bp a side`;
  return {
    sentence: `The top fifth minus the bottom fifth adds up to ${figure(sums.at(-1)!, "return")} over ${countedRows(days.length, "date")}, ${figure(mean(spread), "mu")} a day${within}; after costs of ${costs}, ${figure(netSums.at(-1)!, "return")}, ${figure(mean(net), "mu")} a day. This is not a strategy.`,
    ...linesOverDates({
      title: "Top minus bottom fifth, cumulative",
      unit: "return",
      days,
      within: [0],
      lines: [
        ["before costs", "sum of the daily spreads, before costs", sums],
        [`after ${costs}`, `after ${costs}`, netSums],
      ],
      columns: [
        ["Spread", "mu", spread],
        ["Sum", "return", sums],
        [`After ${COST} bp`, "return", netSums],
      ],
    }),
  };
}

/** In days. */
const HORIZONS = [1, 2, 5, 10, 20];

function horizonsPanel({ rows }: OutputEvidence): ReportPanel {
  const title = "IC by horizon";
  const found = HORIZONS.flatMap((horizon) => horizonSkill(rows.map(asRanked), horizon) ?? []);
  if (found.length === 0) return { title, sentence: "No returns over several days are known yet." };
  const banded = found.filter(({ band }) => band !== null);
  const above = banded.filter(({ band }) => band!.low > 0).map(({ horizon }) => horizon);
  const days = new Intl.ListFormat("en-GB").format(above.map(String));
  const judged =
    banded.length === 0
      ? "too few dates for a band"
      : above.length === 0
        ? `no ${BAND} is above 0`
        : `the ${BAND} is above 0 over ${days} ${days === "1" ? "day" : "days"}`;
  const each = found.map(({ horizon, ic }) => `${figure(ic, "ic")} over ${countedRows(horizon, "day")}`);
  return meansPanel(
    { title, sentence: `The mean IC was ${each.join(", ")}; ${judged}.` },
    "ic",
    "mean IC of the forecasts with the summed returns of the following days",
    ["Days", "IC"],
    found.map(({ horizon, dates, ic, band }) => ({
      name: String(horizon),
      label: `${horizon} d`,
      dates,
      mean: ic,
      band,
    })),
  );
}

/** In dates. */
const HALF_LIVES = [0, 1, 2, 3, 5, 10];
/** Smoothing and sorting more rows six times would take several times as long as the rest of a report. */
const MAX_SMOOTHED_ROWS = 250_000;

/**
 * What the spread is worth after costs if forecasts are smoothed, at two closes; nothing for a smoothed or older output, for few tickers, or if
 * each ticker's forecasts have a factor of their own, which smoothing comes before, or for too many rows.
 */
function halfLifePanels(evidence: OutputEvidence): ReportPanel[] {
  const { document, judgedRows } = evidence;
  const { delay = 0 } = document.window;
  const { smoothing, shrinkage = "none" } = document.model;
  if (smoothing !== undefined || !["none", "pooled"].includes(shrinkage as string)) return [];
  const { score, out_of_fold: folds } = document.metrics;
  if (document.metrics[judgedRows]?.by_delay === undefined) return [];
  if (score.pooled.n + (folds?.pooled.n ?? 0) > MAX_SMOOTHED_ROWS) return [];
  const orders = ordersByHalfLife(evidence, delay);
  return [delay, delay + 1].flatMap((close, step) => {
    const atClose = orders.map((all) => all[step]!);
    return atClose.some(({ net_5bp }) => net_5bp === null) ? [] : [halfLifePanel(close, atClose)];
  });
}

/** Out-of-fold rows come before the score rows. All that is smoothed is the order, so levels and one factor for all tickers do not matter. */
function ordersByHalfLife({ rows, outOfFold = [], judgedRows }: OutputEvidence, delay: number) {
  const earlier = new Map(judgedRows === "score" ? outOfFold.map((row) => [row.ticker, row] as const) : []);
  const ranked = rows.map(asRanked);
  const streams = ranked.map((row) => {
    const parts = [earlier.get(row.ticker) ?? [], row].flat();
    const days = Int32Array.from(parts.flatMap((part) => [...part.days]));
    const predicted = concatenate(parts.map((part) => part.predicted));
    return { days, predicted, levels: new Float64Array(days.length) };
  });
  return HALF_LIVES.map((halfLife) => {
    const { smoothed } = smoothForecasts(streams, halfLife);
    const judged = ranked.map((row, i) => ({
      ...row,
      predicted: smoothed[i]!.subarray(smoothed[i]!.length - row.days.length),
    }));
    return ordersByDate(judged, [0, 1], "ic").map((dates, step) => ({
      delay: delay + step,
      ...ordersAcross(dates),
    }));
  });
}

const points = (value: number | null) => (value === null ? null : value * BASIS_POINT);

function netBand(order: DelayedOrder): Band | null {
  const { net } = orderBands(order);
  return net && { low: net.low * BASIS_POINT, high: net.high * BASIS_POINT };
}

const NET_BAND = `${wholePercent(90)} band`;

export const ORDER_COLUMNS: readonly ColumnSpec<DelayedOrder>[] = [
  ["IC", "ic", ({ ic_mean }) => ic_mean],
  [NET_BAND, "band", "ic", (order) => orderBands(order).order],
  ["Spread", "mu", ({ spread_mean }) => points(spread_mean)],
  ["Replaced", "coverage", ({ turnover }) => turnover],
  ["After 1 bp", "mu", ({ net_1bp }) => points(net_1bp)],
  ["After 5 bp", "mu", ({ net_5bp }) => points(net_5bp)],
  [NET_BAND, "band", "mu", netBand],
  ["After 10 bp", "mu", ({ net_10bp }) => points(net_10bp)],
  ["Dates", "count", ({ dates }) => dates],
];

function halfLifePanel(close: number, orders: readonly DelayedOrder[]): ReportPanel {
  const nets = orders.map(({ net_5bp }) => net_5bp!);
  const best = nets.indexOf(Math.max(...nets));
  const smoothest =
    best === 0
      ? "no half-life leaves more"
      : `a half-life of ${countedRows(HALF_LIVES[best]!, "date")} leaves most, ${figure(points(nets[best]!), "mu")}`;
  const title = `Net of costs by half-life, ${closeName(close)}`;
  return {
    title,
    tab: { card: "half-life", label: closeTitle(close) },
    sentence: `Traded ${closeName(close)} at 5 bp a side, the spread leaves ${figure(points(nets[0]!), "mu")} a day without smoothing; ${smoothest}. On the rows on which it is chosen, a half-life looks better than it is.`,
    chart: {
      x: { names: HALF_LIVES.map(String) },
      y: { unit: "mu" },
      marks: [
        columnsOf("bar", nets.map(points), {
          meaning: "top minus bottom fifth a day after 5 bp a side, by half-life in dates",
        }),
        whiskersOf(orders.map(netBand), `its ${NET_BAND}`),
      ],
    },
    numbers: numbers({
      name: title,
      rows: orders,
      columns: [["Half-life", "text", (_, i) => String(HALF_LIVES[i])], ...ORDER_COLUMNS],
    }),
  };
}

/** What each exposure is, in words. */
const EXPOSURE_NAMES: Readonly<Record<string, readonly [label: string, name: string]>> = {
  beta_252: ["beta", "beta"],
  volatility_63: ["volatility", "volatility"],
  return_5: ["5 d", "the return of the last 5 dates"],
  return_21: ["21 d", "the return of the last 21 dates"],
  return_252: ["252 d", "the return of the last 252 dates"],
};

/** What the forecasts have in common with prices; nothing for an older output, or for too few tickers. */
function exposurePanels({ document, judgedRows }: OutputEvidence): ReportPanel[] {
  const table = document.metrics[judgedRows]?.exposures;
  if (table === undefined) return [];
  const means = table.by_exposure.flatMap(
    ({ name: key, dates, correlation_mean: centre, correlation_t: t }): Mean[] => {
      if (centre === null) return [];
      const [label, name] = Object.hasOwn(EXPOSURE_NAMES, key) ? EXPOSURE_NAMES[key]! : [key, key];
      const band = bandFromT(centre, t, datesQuantile(meanMethod(dates), dates, 0.975));
      return [{ name, label, dates, mean: centre, band }];
    },
  );
  if (means.length === 0) return [];
  const { dates, ic_mean: ic, residual } = table;
  const largest = means.reduce((a, b) => (Math.abs(b.mean) > Math.abs(a.mean) ? b : a));
  const most = `The forecasts have the most in common with ${largest.name}: a correlation of ${figure(largest.mean, "ic")}.`;
  const band = bandFromT(residual.ic_mean, residual.ic_t, datesQuantile(meanMethod(dates), dates, 0.95));
  const within = band === null ? "" : ` (${wholePercent(90)} band ${bandFigure(band, "ic")})`;
  const beyond =
    ic === null || residual.ic_mean === null
      ? "No date has 12 tickers with a return and all exposures."
      : `The mean IC is ${figure(ic, "ic")}, and ${figure(residual.ic_mean, "ic")}${within} beyond beta, volatility and past returns together, over ${countedRows(dates, "date")}.`;
  return [
    meansPanel(
      { title: "Exposure to prices", sentence: `${most} ${beyond}` },
      "ic",
      "mean correlation of the forecasts with the exposure across the tickers of a date",
      ["Exposure", "Correlation"],
      means,
    ),
  ];
}
