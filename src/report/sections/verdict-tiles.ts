import { verdictFigures } from "../../contract/output/later-close.ts";
import { bandFromT } from "../../contract/output/test-quantile.ts";
import type { RowsByDate } from "../../evaluate/rows-by-date.ts";
import { finiteOrNull, mean } from "../../evaluate/statistics.ts";
import { bandFigure, countedRows, figure, type Unit, wholePercent } from "../../view/figures.ts";
import { dot, GRID, gridX, segment } from "../../view/path.ts";
import { escapeText, mark } from "../charts/plot.ts";
import { linearScale } from "../charts/scale.ts";
import { heldOutSlope } from "../evidence/held-out-slope.ts";
import { judgedSet, type OutputEvidence } from "../evidence/output-evidence.ts";
import {
  type Band,
  dateSums,
  HIT_RATE,
  meanBand,
  type RowTerms,
  ratioOverDates,
} from "../statistics/over-dates.ts";

/** One number and its reference. */
export interface Tile {
  readonly name: string;
  readonly value: number | null;
  readonly unit: Unit;
  /** With dates as units. */
  readonly band: Band | null;
  /** The share of the band, in percent. */
  readonly percent: 90 | 95;
  readonly aim: Aim;
  /** The value without skill, or the requested value. */
  readonly reference: { readonly name: string; readonly value: number | null };
}

/** Where a good value is: above its reference, at it or above, or at it and away from 0. */
type Aim = "above" | "covered" | "sized";

/** The six figures of the first screen; IC and R² are those that the verdict is on. */
export function tilesOf(evidence: OutputEvidence): Tile[] {
  const { table, dates, byDate, judgedRows } = evidence;
  const { pooled } = table;
  const judged = judgedSet(evidence);
  const { ic, r2 } = judged === undefined ? { ic: null, r2: null } : verdictFigures(judged);
  const on = judged === undefined || judged.rows === judgedRows ? "" : `, ${judged.rows} rows`;
  const { order, sizes } = judged ?? {};
  const slope = heldOutSlope(evidence);
  const nothing = { name: "no skill", value: 0 };
  return [
    // As the verdict tests it: one-sided at 5 %.
    { ...tile(`IC${on}`, ic, "ic", bandFromT(ic, order?.t, order?.quantile), nothing), percent: 90 },
    tile("RankIC", finiteOrNull(mean(dates.rankIc)), "ic", meanBand(dates.rankIc), nothing),
    tile(`R²${on}`, r2, "r2", bandFromT(r2, sizes?.against.zero.squared_error_t, sizes?.quantile), {
      name: "zero forecast",
      value: 0,
    }),
    tile("Hit rate", pooled.hit_rate, "coverage", ratioBand(byDate, HIT_RATE), {
      name: "up days",
      value: pooled.up_share ?? null,
    }),
    coverageTile(evidence),
    tile("Slope before shrinkage", slope.value, "t", slope.band, { name: "right size", value: 1 }, "sized"),
  ];
}

/** Without score rows, that of the intervals that the same method gives on out-of-fold rows, one after the other, as the verdict judges it. */
function coverageTile(evidence: OutputEvidence): Tile {
  const { judgedRows, coverage, dateCoverage, document } = evidence;
  const { intervals } = document.metrics;
  const nominal = intervals ? 1 - intervals.alpha : null;
  const tileOf = (name: string, value: number | null, band: Band | null) =>
    tile(name, value, "coverage", band, { name: "nominal", value: nominal }, "covered");
  const name = "Interval coverage";
  if (judgedRows === "score") {
    return tileOf(
      name,
      coverage?.pooled.coverage ?? null,
      intervals ? ratioOverDates(dateCoverage).band : null,
    );
  }
  const tested = judgedSet(evidence)?.intervals;
  const value = intervals?.pooled.prequential?.coverage ?? null;
  if (tested == null || tested.figure === null) return tileOf(name, value, null);
  const gap = bandFromT(tested.figure - tested.asked, tested.t, tested.quantile);
  const band = gap && { low: tested.asked + gap.low, high: tested.asked + gap.high };
  return tileOf(`${name}, ${countedRows(tested.dates, "date")}`, value, band);
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
  aim: Aim = "above",
): Tile {
  return { name, value, unit, band: value === null ? null : band, percent: 95, reference, aim };
}

/** Good or bad only if the band says so. */
export function judgementOf({ value, band, aim, reference }: Tile): "good" | "bad" | "open" {
  const at = reference.value;
  if (value === null || band === null || at === null) return "open";
  const holds = band.low <= at && at <= band.high;
  switch (aim) {
    case "above":
      return band.low > at ? "good" : band.high < at ? "bad" : "open";
    case "covered":
      return holds ? "good" : band.high < at ? "bad" : "open";
    case "sized":
      return band.high < 0 ? "bad" : holds && band.low > 0 ? "good" : "open";
  }
}

export function tileHtml(tile: Tile): string {
  const { name, value, unit, band, percent, reference } = tile;
  const within =
    band === null
      ? "no band"
      : `${wholePercent(percent)} band <span class="range">${bandFigure(band, unit)}</span>`;
  const beside = reference.value === null ? "" : `${reference.name}: ${figure(reference.value, unit)}`;
  const strip = value === null ? "" : bandMark(value, band, reference.value);
  return `<li class="${judgementOf(tile)}"><p class="name">${escapeText(name)}</p><p class="value">${figure(value, unit)}</p><p>${strip}</p><p>${within}</p><p>${escapeText(beside)}</p></li>`;
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
