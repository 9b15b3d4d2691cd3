import type { ForecastTable } from "../../../evaluate/forecast-table.ts";
import type { RowsByDate } from "../../../evaluate/rows-by-date.ts";
import type { OutputEvidence } from "../../evidence/output-evidence.ts";
import { dateSums, HIT_RATE, R2_ZERO, type RowTerms } from "../../statistics/date-sums.ts";
import { meanBand, ratioOverDates } from "../../statistics/over-dates.ts";
import { type AdjustedVerdict, verdictSentences } from "../adjusted-verdict.ts";
import { bandFigure, figure, wholePercent } from "../figures.ts";
import { heldOutSlope } from "../held-out-slope.ts";
import type { Band, ForecastMetrics, Tile, Unit, Verdict } from "../report-data.ts";

/**
 * The conclusion for the reader: the order of the forecasts, their sizes, their intervals. @param adjusted the verdict if there are
 * several outputs.
 */
export function verdict(evidence: OutputEvidence, adjusted?: AdjustedVerdict): Verdict {
  const alone = evidence.verdict;
  const found = adjusted ?? alone;
  return {
    state: found?.state ?? "too_few",
    title: found?.title ?? "Nothing to judge",
    sentences:
      alone === undefined
        ? ["The output has no ticker with a forecast."]
        : (adjusted?.sentences ?? verdictSentences(alone)),
    tiles: Object.values(tilesOf(evidence)),
    baselines: baselineRows(evidence),
  };
}

function tilesOf(evidence: OutputEvidence) {
  const { document, table, dates, byDate, dateCoverage, coverage } = evidence;
  const { cross_section: across, pooled } = table;
  const { intervals } = document.metrics;
  const slope = heldOutSlope(evidence);
  const nothing = { name: "no skill", value: 0 };
  return {
    ic: tile("IC", across.ic_mean, "number", meanBand(dates.ic), nothing),
    rankIc: tile("RankIC", across.rank_ic_mean, "number", meanBand(dates.rankIc), nothing),
    r2: tile("R² against zero", pooled.r2_zero, "percent", ratioBand(byDate, R2_ZERO), {
      name: "zero forecast",
      value: 0,
    }),
    hitRate: tile("Hit rate", pooled.hit_rate, "share", ratioBand(byDate, HIT_RATE), {
      name: "up days",
      value: pooled.up_share ?? null,
    }),
    coverage: tile(
      "Interval coverage",
      coverage?.pooled.coverage ?? null,
      "share",
      intervals ? ratioOverDates(dateCoverage).band : null,
      { name: "nominal", value: intervals ? 1 - intervals.alpha : null },
    ),
    shrinkage: tile("Slope of returns on forecasts", slope.value, "number", slope.band, {
      name: "right size",
      value: 1,
    }),
  };
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
  const within = band === null ? "" : `, ${wholePercent(95)} band ${bandFigure(band, unit)}`;
  const beside = reference.value === null ? "" : `; ${reference.name} ${figure(reference.value, unit)}`;
  const known =
    value === null ? "does not exist on these rows" : `is ${figure(value, unit)}${within}${beside}`;
  return { name, value, unit, band: value === null ? null : band, reference, finding: `${name} ${known}.` };
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
