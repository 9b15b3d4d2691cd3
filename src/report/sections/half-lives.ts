import { closeName, closeTitle, orderBands } from "../../contract/output/later-close.ts";
import type { DelayedOrder } from "../../contract/output/metrics-schemas.ts";
import { delayedOrders } from "../../evaluate/delayed-order.ts";
import { asRanked, concatenate } from "../../evaluate/forecast-rows.ts";
import { smoothForecasts } from "../../evaluate/smoothing.ts";
import { bandFigure, countedRows, figure, NO_FIGURE, wholePercent } from "../../view/figures.ts";
import { columnChart } from "../charts/column-chart.ts";
import type { OutputEvidence } from "../evidence/output-evidence.ts";
import { keyLine, numbersTable, type Panel } from "../panels/panel.ts";

/** In dates. */
const HALF_LIVES = [0, 1, 2, 3, 5, 10];

const BASIS_POINT = 1e-4;

/**
 * What the spread is worth after costs if forecasts are smoothed, at two closes; nothing for a smoothed or older output, for few tickers, or if
 * each ticker's forecasts have a factor of their own, which smoothing comes before.
 */
export function halfLifePanels(evidence: OutputEvidence): Panel[] {
  const { document, judgedRows } = evidence;
  const { delay = 0 } = document.window;
  const { smoothing, shrinkage = "none" } = document.model;
  if (smoothing !== undefined || !["none", "pooled"].includes(shrinkage as string)) return [];
  if (document.metrics[judgedRows]?.by_delay === undefined) return [];
  const orders = ordersByHalfLife(evidence, delay);
  return [delay, delay + 1].flatMap((close, step) => {
    const own = orders.map((all) => all[step]!);
    return own.some(({ net_5bp }) => net_5bp === null) ? [] : [closePanel(close, own)];
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
    const judged = ranked.map((row, i) => {
      const own = smoothed[i]!;
      return { ...row, predicted: own.subarray(own.length - row.days.length) };
    });
    return delayedOrders(judged, delay, [0, 1]);
  });
}

function closePanel(close: number, orders: readonly DelayedOrder[]): Panel {
  const nets = orders.map(({ net_5bp }) => net_5bp!);
  const best = nets.indexOf(Math.max(...nets));
  const points = (value: number | null) => figure(value === null ? null : value * BASIS_POINT, "mu");
  const bands = orders.map((order) => {
    const { net } = orderBands(order);
    return net && { low: net.low * BASIS_POINT, high: net.high * BASIS_POINT };
  });
  const of = (cost: "net_1bp" | "net_5bp" | "net_10bp") => orders.map((order) => order[cost]! * BASIS_POINT);
  const smoothest =
    best === 0
      ? "no half-life leaves more"
      : `a half-life of ${countedRows(HALF_LIVES[best]!, "date")} leaves most, ${points(nets[best]!)}`;
  const finding = `Traded ${closeName(close)} at 5 bp a side, the spread leaves ${points(nets[0]!)} a day without smoothing; ${smoothest}. On the rows on which it is chosen, a half-life looks better than it is.`;
  const band = `${wholePercent(90)} band`;
  return {
    title: `Net of costs by half-life, ${closeName(close)}`,
    tab: { card: "half-life", label: closeTitle(close) },
    finding,
    chart: columnChart({
      finding,
      labels: HALF_LIVES.map(String),
      unit: "mu",
      series: [of("net_5bp"), of("net_10bp")],
      dots: of("net_1bp"),
      bands,
      isJudged: true,
    }),
    key: keyLine([
      ["bar", "top minus bottom fifth a day after 5 bp a side, by half-life in dates"],
      ["whisker", `its ${band}`],
      ["bar second", "after 10 bp"],
      ["dot second", "after 1 bp"],
    ]),
    numbers: numbersTable({
      caption: `net of costs by half-life, ${closeName(close)}`,
      columns: ["Half-life", "IC", "Spread", "Replaced", "After 1 bp", "After 5 bp", band, "After 10 bp"],
      rows: orders.map((order, h) => [
        String(HALF_LIVES[h]),
        figure(order.ic_mean, "ic"),
        points(order.spread_mean),
        figure(order.turnover, "coverage"),
        points(order.net_1bp),
        points(order.net_5bp),
        bands[h] === null ? NO_FIGURE : bandFigure(bands[h]!, "mu"),
        points(order.net_10bp),
      ]),
    }),
  };
}
