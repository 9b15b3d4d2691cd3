import { formatDay } from "../../../contract/market/dates.ts";
import { bandMark } from "../../charts/band-mark.ts";
import { escapeText } from "../../charts/escape-text.ts";
import { bandFigure, countedRows, figure, wholePercent } from "../../data/figures.ts";
import type { OutputReport, Tile, Verdict } from "../../data/report-data.ts";
import { plainTable } from "../numbers-table.ts";
import { prose } from "../prose.ts";

/** The class of each state: only skill with correct sizes is good. */
const BADGES: Readonly<Record<Verdict["state"], "some" | "none" | "unknown">> = {
  skill: "some",
  oversized: "unknown",
  none: "none",
  worse: "none",
  too_few: "unknown",
};

/** The conclusion for the reader: the verdict in sentences, the tiles, and the forecasts that any model has to beat. */
export function verdictHtml(output: OutputReport, isAmongSeveral: boolean): string {
  const { verdict, name } = output;
  const heading = isAmongSeveral ? `<h3 class="model"><bdi>${escapeText(name)}</bdi></h3>` : "";
  return `<div class="verdict">${heading}
<p class="badge ${BADGES[verdict.state] ?? "unknown"}">${escapeText(verdict.title)}</p>
<div class="sentences">${verdict.sentences.map((sentence) => `<p>${prose(sentence)}</p>`).join("")}</div>
<p class="faint">${prose(factsLine(output))}</p>
<ul class="tiles">${verdict.tiles.map(tileHtml).join("\n")}</ul>
${baselinesTable(verdict, name)}</div>`;
}

function factsLine({ facts }: OutputReport): string {
  const { operation, asOf, rows, tickers, dates, firstDay, lastDay, learningEnd } = facts;
  const learned = learningEnd === null ? "" : ` Training ended on ${learningEnd}.`;
  const judged =
    firstDay === undefined || lastDay === undefined
      ? "no row has a realised return"
      : `judged on ${countedRows(rows, "row")} of ${countedRows(tickers, "ticker")} over ${countedRows(dates, "date")}, ${formatDay(firstDay)} to ${formatDay(lastDay)}`;
  return `${operation} as of ${asOf}: ${judged}.${learned} Returns are next-day log-returns in percent; returns of quantiles are simple returns. On the lines below, the dot is the value, the bar is its ${wholePercent(95)} band, and the dashed mark is the reference.`;
}

function tileHtml({ name, value, unit, band, reference }: Tile): string {
  const within = band === null ? "no band" : `${wholePercent(95)} band ${bandFigure(band, unit)}`;
  const beside = reference.value === null ? "" : `${reference.name}: ${figure(reference.value, unit)}`;
  const strip = value === null ? "" : bandMark(value, band, reference.value);
  return `<li><p class="name">${escapeText(name)}</p><p class="value">${figure(value, unit)}</p>${strip}<p>${within}</p><p>${escapeText(beside)}</p></li>`;
}

function baselinesTable({ baselines }: Verdict, name: string): string {
  return plainTable({
    caption: `${name} and the forecasts that any model has to beat`,
    columns: ["Forecast", "R² against zero", "IC", "RankIC", "Hit rate", "RMSE", "MAE"],
    rows: baselines.map((row) => [
      row.name,
      figure(row.r2Zero, "percent"),
      figure(row.icMean, "number"),
      figure(row.rankIcMean, "number"),
      figure(row.hitRate, "share"),
      figure(row.rmse, "share"),
      figure(row.mae, "share"),
    ]),
  });
}
