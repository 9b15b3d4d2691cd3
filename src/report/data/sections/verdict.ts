import type { ForecastTable } from "../../../evaluate/forecast-table.ts";
import { LEAST_DATES } from "../../../evaluate/newey-west.ts";
import type { RowsByDate } from "../../../evaluate/rows-by-date.ts";
import type { OutputEvidence } from "../../evidence/output-evidence.ts";
import { dateSums, HIT_RATE, R2_ZERO, type RowTerms } from "../../statistics/date-sums.ts";
import { coverageBand } from "../../statistics/interval-outcomes.ts";
import { bandOf, meanBand, ratioOverDates } from "../../statistics/over-dates.ts";
import { bandFigure, countedRows, figure, wholePercent } from "../figures.ts";
import type { Band, ForecastMetrics, Tile, Unit, Verdict } from "../report-data.ts";
import { whyNoLabels, whyNoOrder } from "./why-absent.ts";

/** What a reader takes away: the order of the forecasts, their sizes, their intervals. */
export function verdict(evidence: OutputEvidence): Verdict {
  const tiles = tilesOf(evidence);
  const found = evidenceIn(evidence, tiles);
  return {
    evidence: found,
    sentences: [
      orderSentence(evidence, tiles),
      sizeSentence(evidence, tiles),
      intervalSentence(evidence, tiles),
    ],
    tiles: Object.values(tiles),
    baselines: baselineRows(evidence),
  };
}

type Tiles = ReturnType<typeof tilesOf>;

function tilesOf({ document, table, dates, byDate, dateCoverage, coverage }: OutputEvidence) {
  const { cross_section: across, pooled } = table;
  const { shrinkage, intervals } = document.metrics;
  const slope = shrinkage?.pooled.b ?? null;
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
      "Coverage of intervals",
      coverage?.pooled.coverage ?? null,
      "share",
      intervals ? coverageBand(dateCoverage) : null,
      { name: "asked", value: intervals ? 1 - intervals.alpha : null },
    ),
    shrinkage: tile(
      "Slope of returns on forecasts",
      slope,
      "number",
      bandOf(slope, shrinkage?.pooled.se ?? null),
      { name: "right size", value: 1 },
    ),
  };
}

function ratioBand(rows: RowsByDate, terms: RowTerms): Band | null {
  const { ratio, error } = ratioOverDates(dateSums(rows, terms));
  return bandOf(ratio, error);
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

/** Whether a 95 % band of IC, RankIC or R² lies above 0. */
function evidenceIn({ dateCount }: OutputEvidence, { ic, rankIc, r2 }: Tiles): Verdict["evidence"] {
  if (dateCount < LEAST_DATES) return "unknown";
  return [ic, rankIc, r2].some(({ band }) => band !== null && band.low > 0) ? "some" : "none";
}

function orderSentence(evidence: OutputEvidence, { ic, rankIc }: Tiles): string {
  const { dateCount, dates } = evidence;
  if (dateCount === 0) return `${whyNoLabels(evidence)} Skill cannot be judged.`;
  if (dateCount < LEAST_DATES) {
    return `Only ${countedRows(dateCount, "date")} ${dateCount === 1 ? "has" : "have"} realised returns: too few to judge the skill of these forecasts (${LEAST_DATES} are the least).`;
  }
  if (dates.days.length === 0) return whyNoOrder(evidence);
  const told = [ic, rankIc].find(({ band }) => band !== null && band.low > 0) ?? ic;
  const { name, value, band } = told;
  const over = `${name} ${figure(value, "number")} over ${countedRows(dates.days.length, "date")}`;
  if (band === null) return `The order of the forecasts: ${over}; its error cannot be told.`;
  const within = `its ${wholePercent(95)} band of ${bandFigure(band, "number")}`;
  if (band.low > 0) return `The order of the forecasts shows skill: ${over}, and ${within} lies above 0.`;
  if (band.high < 0)
    return `The order of the forecasts was worse than chance: ${over}, and ${within} lies below 0.`;
  return `The order of the forecasts shows no evidence of skill: ${over}, and ${within} holds 0.`;
}

function sizeSentence({ dateCount, table, meanTable }: OutputEvidence, { r2, shrinkage }: Tiles): string {
  const slope =
    shrinkage.value === null
      ? ""
      : ` Before the cut the slope of returns on forecasts was ${figure(shrinkage.value, "number")}, where 1 is the right size.`;
  if (dateCount === 0 || r2.value === null) return `The size of the forecasts cannot be judged yet.${slope}`;
  const against = `R² is ${figure(r2.value, "percent")} against the zero forecast`;
  const mean = meanClause(table.pooled.r2_mean, meanTable !== undefined);
  if (dateCount < LEAST_DATES) {
    return `On so few dates the size of the forecasts cannot be judged: ${against}${mean}.${slope}`;
  }
  return `As sizes of returns the forecasts ${sizeClause(r2)}: ${against}${mean}.${slope}`;
}

function sizeClause({ value, band }: Tile): string {
  if (band !== null && band.low > 0) return "were better than 0";
  if (band !== null && band.high < 0) return "were worse than 0";
  return value! > 0 ? "were not better than 0 by more than chance" : "were no better than 0";
}

function meanClause(r2Mean: number | null, isKnown: boolean): string {
  if (!isKnown || r2Mean === null) return "";
  return ` and ${figure(r2Mean, "percent")} against the historical mean`;
}

function intervalSentence({ document, dateCount }: OutputEvidence, { coverage }: Tiles): string {
  const { intervals } = document.metrics;
  if (intervals === null) return "The output has no intervals.";
  const asked = figure(1 - intervals.alpha, "share");
  if (coverage.value !== null) {
    const held = `held ${figure(coverage.value, "share")}`;
    return `Intervals that were to hold ${asked} of returns ${held}${coverageClause(coverage, dateCount)}.`;
  }
  const before = intervals.pooled.prequential?.coverage;
  if (dateCount === 0 && before != null) {
    return `Intervals are to hold ${asked} of returns; on rows before the cut they held ${figure(before, "share")}.`;
  }
  return `Intervals are to hold ${asked} of returns; none has been put to the test.`;
}

function coverageClause({ band, reference }: Tile, dateCount: number): string {
  if (dateCount < LEAST_DATES) return " so far, on too few dates to judge";
  if (band === null) return "; the error of that cannot be told";
  const isFar = band.low > reference.value! || band.high < reference.value!;
  return isFar ? ", which differs by more than chance" : ", which agrees";
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
