import { type Day, formatDay } from "../../contract/market/dates.ts";
import type { Verdict as ForecastVerdict } from "../../contract/output/verdict.ts";
import type { ForecastTable } from "../../evaluate/forecast-table.ts";
import type { RowsByDate } from "../../evaluate/rows-by-date.ts";
import { dot, GRID, gridX, segment } from "../charts/path.ts";
import { escapeText, mark } from "../charts/plot.ts";
import { linearScale } from "../charts/scale.ts";
import { verdictSentences } from "../evidence/adjusted-verdict.ts";
import { heldOutSlope } from "../evidence/held-out-slope.ts";
import { JUDGED_ROWS, type OutputEvidence } from "../evidence/output-evidence.ts";
import { type ReportedOutput, stateOf } from "../evidence/reported-outputs.ts";
import { bandFigure, countedRows, figure, type Unit, wholePercent } from "../figures.ts";
import { plainTable, sentenceHtml } from "../panels/panel.ts";
import type { Section } from "../panels/section.ts";
import {
  type Band,
  dateSums,
  HIT_RATE,
  meanBand,
  R2_ZERO,
  type RowTerms,
  ratioOverDates,
} from "../statistics/over-dates.ts";

/** The conclusion for the reader: the verdict in sentences, the tiles, and the forecasts that any model has to beat. */
export const verdictSection: Section = {
  id: "verdict",
  title: "Verdict",
  html: ({ outputs }) =>
    `<div class="beside">${outputs.map((output) => verdictHtml(output, outputs.length > 1)).join("\n")}</div>`,
};

/** The conclusion for the reader. */
interface Verdict {
  /** State, title and sentences of the output's verdict; with several outputs, adjusted for their number. */
  readonly state: ForecastVerdict["state"];
  readonly title: string;
  readonly sentences: readonly string[];
  readonly facts: Facts;
  readonly tiles: readonly Tile[];
  readonly baselines: readonly ForecastMetrics[];
}

interface Facts {
  readonly operation: string;
  /** Each as `YYYY-MM-DD`. */
  readonly learningEnd: string | null;
  readonly asOf: string;
  /** The number of tickers with forecasts. */
  readonly tickers: number;
  readonly judgedRows: OutputEvidence["judgedRows"];
  /** The labelled rows of the report, and their first and last day. */
  readonly rows: number;
  readonly dates: number;
  readonly firstDay: Day | undefined;
  readonly lastDay: Day | undefined;
}

/** One number and its reference. */
interface Tile {
  readonly name: string;
  readonly value: number | null;
  readonly unit: Unit;
  /** 95 %, with dates as units: Newey-West errors times the fixed-b quantile. */
  readonly band: Band | null;
  /** The value without skill, or the requested value. */
  readonly reference: { readonly name: string; readonly value: number | null };
}

/** A row of the table of forecasts: the model, the zero forecast, the historical mean. */
interface ForecastMetrics {
  readonly name: string;
  readonly rmse: number | null;
  readonly mae: number | null;
  readonly hitRate: number | null;
  readonly r2Zero: number | null;
  readonly icMean: number | null;
  readonly rankIcMean: number | null;
}

/** The verdict on the order of the forecasts, their sizes and their intervals. */
export function verdictOf(output: ReportedOutput): Verdict {
  const { common, adjusted } = output;
  const alone = common.verdict;
  return {
    state: stateOf(output),
    title: (adjusted ?? alone)?.title ?? "Nothing to judge",
    sentences:
      alone === undefined
        ? ["The output has no ticker with a forecast."]
        : (adjusted?.sentences ?? verdictSentences(alone)),
    facts: factsOf(common),
    tiles: tilesOf(common),
    baselines: baselineRows(common),
  };
}

function factsOf({ document, judgedRows, rows, labelled, dateCount, table }: OutputEvidence): Facts {
  const { operation, window } = document;
  const firsts = labelled.flatMap(({ days }) => days[0] ?? []);
  const lasts = labelled.flatMap(({ days }) => days.at(-1) ?? []);
  return {
    operation,
    learningEnd: window.learning_end,
    asOf: window.as_of,
    tickers: rows.length,
    judgedRows,
    rows: table.pooled.n,
    dates: dateCount,
    firstDay: firsts.length === 0 ? undefined : firsts.reduce((a, b) => Math.min(a, b)),
    lastDay: lasts.length === 0 ? undefined : lasts.reduce((a, b) => Math.max(a, b)),
  };
}

function tilesOf(evidence: OutputEvidence): Tile[] {
  const { document, table, dates, byDate, dateCoverage } = evidence;
  const { cross_section: across, pooled } = table;
  const { intervals } = document.metrics;
  const slope = heldOutSlope(evidence);
  const nothing = { name: "no skill", value: 0 };
  return [
    tile("IC", across.ic_mean, "ic", meanBand(dates.ic), nothing),
    tile("RankIC", across.rank_ic_mean, "ic", meanBand(dates.rankIc), nothing),
    tile("R² against zero", pooled.r2_zero, "r2", ratioBand(byDate, R2_ZERO), {
      name: "zero forecast",
      value: 0,
    }),
    tile("Hit rate", pooled.hit_rate, "coverage", ratioBand(byDate, HIT_RATE), {
      name: "up days",
      value: pooled.up_share ?? null,
    }),
    tile(
      "Interval coverage",
      coverageOf(evidence),
      "coverage",
      intervals ? ratioOverDates(dateCoverage).band : null,
      { name: "nominal", value: intervals ? 1 - intervals.alpha : null },
    ),
    tile("Slope of returns on forecasts", slope.value, "t", slope.band, {
      name: "right size",
      value: 1,
    }),
  ];
}

/** Without score rows, that of the intervals that the same method gives on out-of-fold rows, one after the other. */
function coverageOf({ judgedRows, coverage, document }: OutputEvidence): number | null {
  return judgedRows === "score"
    ? (coverage?.pooled.coverage ?? null)
    : (document.metrics.intervals?.pooled.prequential?.coverage ?? null);
}

function ratioBand(rows: RowsByDate, terms: RowTerms): Band | null {
  return ratioOverDates(dateSums(rows, terms)).band;
}

function tile(
  name: string,
  value: number | null,
  unit: Unit,
  band: Band | null,
  reference: Tile["reference"],
): Tile {
  return { name, value, unit, band: value === null ? null : band, reference };
}

/** The model beside the forecasts that any model has to beat, on the same rows. */
function baselineRows({ modelName, table, zeroTable, meanTable }: OutputEvidence): ForecastMetrics[] {
  const rows = [metricsRow(modelName, table), metricsRow("zero forecast", zeroTable)];
  return meanTable === undefined ? rows : [...rows, metricsRow("historical mean", meanTable)];
}

function metricsRow(name: string, { pooled, cross_section: across }: ForecastTable): ForecastMetrics {
  return {
    name,
    rmse: pooled.rmse,
    mae: pooled.mae,
    hitRate: pooled.hit_rate,
    r2Zero: pooled.r2_zero,
    icMean: across.ic_mean,
    rankIcMean: across.rank_ic_mean,
  };
}

/** The class of each state: only skill with correct sizes is good. */
const BADGES: Readonly<Record<Verdict["state"], "some" | "none" | "unknown">> = {
  skill: "some",
  oversized: "unknown",
  none: "none",
  worse: "none",
  too_few: "unknown",
};

function verdictHtml(output: ReportedOutput, isAmongSeveral: boolean): string {
  const { name } = output;
  const verdict = verdictOf(output);
  const heading = isAmongSeveral ? `<h3 class="model"><bdi>${escapeText(name)}</bdi></h3>` : "";
  return `<div class="verdict">${heading}
<p class="badge ${BADGES[verdict.state] ?? "unknown"}">${escapeText(verdict.title)}</p>
<div class="sentences">${verdict.sentences.map((sentence) => `<p>${sentenceHtml(sentence)}</p>`).join("")}</div>
<p class="faint">${sentenceHtml(factsLine(verdict))}</p>
<ul class="tiles">${verdict.tiles.map(tileHtml).join("\n")}</ul>
${baselinesTable(verdict, name)}</div>`;
}

function factsLine({ facts }: Verdict): string {
  const { operation, asOf, rows, judgedRows, tickers, dates, firstDay, lastDay, learningEnd } = facts;
  const learned = learningEnd === null ? "" : ` Training ended on ${learningEnd}.`;
  const judged =
    firstDay === undefined || lastDay === undefined
      ? "no row has a realised return"
      : `judged on ${figure(rows, "count")} ${JUDGED_ROWS[judgedRows]} of ${countedRows(tickers, "ticker")} over ${countedRows(dates, "date")}, ${formatDay(firstDay)} to ${formatDay(lastDay)}`;
  const why =
    judgedRows === "score"
      ? ""
      : " No score row has a realised return yet, so the figures and charts of this report are those of forecasts by models that had not learned from the row.";
  return `${operation} as of ${asOf}: ${judged}.${why}${learned} Returns are next-day log-returns in percent; returns of quantiles are simple returns. On the lines below, the dot is the value, the bar is its ${wholePercent(95)} band, and the dashed mark is the reference.`;
}

function tileHtml({ name, value, unit, band, reference }: Tile): string {
  const within =
    band === null
      ? "no band"
      : `${wholePercent(95)} band <span class="range">${bandFigure(band, unit)}</span>`;
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
      figure(row.r2Zero, "r2"),
      figure(row.icMean, "ic"),
      figure(row.rankIcMean, "ic"),
      figure(row.hitRate, "coverage"),
      figure(row.rmse, "rmse"),
      figure(row.mae, "rmse"),
    ]),
  });
}

/** A number with its band and its reference, on one line without labels: the text is beside it. */
function bandMark(value: number, band: Band | null, reference: number | null): string {
  const known = [
    value,
    ...(band === null ? [] : [band.low, band.high]),
    ...(reference === null ? [] : [reference]),
  ];
  const scale = linearScale(known.length === 1 ? [0, value] : known);
  const at = (number: number) => gridX(scale.share(number));
  const middle = GRID / 2;
  const marks = [
    mark("grid", segment(0, middle, GRID, middle)),
    reference === null ? "" : mark("level", segment(at(reference), 0, at(reference), GRID)),
    band === null ? "" : mark("interval", segment(at(band.low), middle, at(band.high), middle)),
    mark("dot", dot(at(value), middle)),
  ];
  return `<svg class="strip" aria-hidden="true" height="22"><svg class="marks" viewBox="0 0 ${GRID} ${GRID}" width="100%" height="100%" preserveAspectRatio="none">${marks.join("")}</svg></svg>`;
}
