import { MIN_ORDER_TICKERS } from "../../contract/output/later-close.ts";
import type { RowsVerdict, Verdict } from "../../contract/output/verdict.ts";
import { meanForecast, zeroForecast } from "../../evaluate/baselines.ts";
import type { ForecastRows } from "../../evaluate/forecast-rows.ts";
import { type ForecastTable, forecastTable, tableRows } from "../../evaluate/forecast-table.ts";
import { type CoverageTable, coverageTable } from "../../evaluate/intervals/coverage.ts";
import { eachDate, type RowsByDate, sortedByDate } from "../../evaluate/rows-by-date.ts";
import type { OutputDocument } from "../../outputs/open-document.ts";
import { modelNameOf, type OutputSummary } from "../../outputs/output-summary.ts";
import type { ScoredRows } from "../../outputs/scored-rows.ts";
import {
  type DateCoverage,
  dateCoverage,
  type IntervalOutcomes,
  intervalOutcomes,
  outcomesByDate,
} from "../statistics/interval-outcomes.ts";
import { type DateSkill, DateSkillCollector } from "../statistics/over-dates.ts";

/** The rows whose forecasts are judged, in words. */
export const JUDGED_ROWS = { score: "score rows", out_of_fold: "out-of-fold rows" } as const;

export interface OutputEvidence extends RowEvidence {
  readonly judgedRows: keyof typeof JUDGED_ROWS;
  readonly source: string;
  readonly sha256: string;
  readonly document: OutputSummary;
  readonly modelName: string;
  readonly outOfFold: OutputDocument["outOfFold"];
  /** The verdict on the forecasts; undefined without a ticker. */
  readonly verdict: Verdict | undefined;
}

/** The evidence of rows with forecasts. */
interface RowEvidence {
  /** Tickers ascending by code point. */
  readonly rows: readonly ScoredRows[];
  /** The rows with a label, in the same order, without tickers that have none. */
  readonly labelled: readonly ForecastRows[];
  /** The rows of `labelled`, by date. */
  readonly byDate: RowsByDate;
  /** Distinct dates with a label. */
  readonly dateCount: number;
  readonly table: ForecastTable;
  /** For the zero forecast on the same rows, and for the historical mean; undefined if the output does not have the means. */
  readonly zeroTable: ForecastTable;
  readonly meanTable: ForecastTable | undefined;
  /** IC and RankIC of the dates that count. */
  readonly dates: DateSkill;
  /** The actual coverage of the intervals, if the output has any. */
  readonly coverage: CoverageTable | undefined;
  /** For the same tickers as `rows`. */
  readonly outcomes: readonly IntervalOutcomes[];
  /** The outcomes of all tickers by date, and how many intervals contained the return. */
  readonly outcomesByDate: RowsByDate;
  readonly dateCoverage: DateCoverage;
}

/** The verdict's findings on the rows of the evidence; of networks judged before the cut, those of the headline, whose rows are not recorded. */
export function judgedSet({ verdict, judgedRows }: OutputEvidence): RowsVerdict | undefined {
  const [headline] = verdict?.judged ?? [];
  const isRecorded = headline !== undefined && Object.hasOwn(JUDGED_ROWS, headline.rows);
  return isRecorded ? verdict?.judged.find(({ rows }) => rows === judgedRows) : headline;
}

export function outputEvidence(output: OutputDocument): OutputEvidence {
  const { name, sha256, document, rows, outOfFold } = output;
  return {
    source: name,
    sha256,
    document,
    modelName: modelNameOf(document),
    outOfFold,
    verdict: document.verdict,
    judgedRows: "score",
    ...rowEvidence(rows, document.metrics.intervals?.alpha),
  };
}

/**
 * The same output, judged on its out-of-fold rows if no score row has a realised return yet, as in a daily run. Their forecasts are the
 * model's own, without shrinkage, and have no interval.
 */
export function withLabels(evidence: OutputEvidence): OutputEvidence {
  return evidence.dateCount > 0 ? evidence : (onOutOfFoldRows(evidence) ?? evidence);
}

/** The same output, judged on its out-of-fold rows; undefined if it has none. */
export function onOutOfFoldRows(evidence: OutputEvidence): OutputEvidence | undefined {
  const tested = (evidence.outOfFold ?? []).filter(({ days }) => days.length > 0);
  if (tested.length === 0) return undefined;
  const rows = tested.map((row) => {
    const unknown = new Float64Array(row.days.length).fill(Number.NaN);
    return { ...row, lower: unknown, upper: unknown };
  });
  return { ...evidence, judgedRows: "out_of_fold", ...rowEvidence(rows, undefined) };
}

/** @param alpha of the intervals; undefined without intervals. */
export function rowEvidence(rows: readonly ScoredRows[], alpha: number | undefined): RowEvidence {
  const tickers = tableRows(rows);
  const byDate = sortedByDate(tickers);
  const skill = new DateSkillCollector();
  const hasMeans = !tickers.some(({ trainingMean }) => trainingMean.some(Number.isNaN));
  const outcomes = rows.map(intervalOutcomes);
  const outcomesOfDates = outcomesByDate(outcomes);
  return {
    rows,
    labelled: tickers,
    byDate,
    dateCount: [...eachDate(byDate)].length,
    table: forecastTable(tickers, undefined, (day, correlations, held) => {
      // As the verdict counts them, so that the mean of the charts is its IC.
      if (held >= MIN_ORDER_TICKERS) skill.onDate(day, correlations, held);
    }),
    zeroTable: forecastTable(tickers, zeroForecast),
    // NaN has no rank, so without the means there is no table for them.
    meanTable: hasMeans ? forecastTable(tickers, meanForecast) : undefined,
    dates: skill.collected(),
    outcomes,
    outcomesByDate: outcomesOfDates,
    dateCoverage: dateCoverage(outcomesOfDates),
    coverage: alpha === undefined ? undefined : coverageOf(rows, alpha),
  };
}

/** Without the returns before a row, no day counts as a day of high volatility. */
function coverageOf(rows: readonly ScoredRows[], alpha: number): CoverageTable {
  const unknown = (row: ScoredRows) => new Float64Array(row.days.length).fill(Number.NaN);
  return coverageTable(
    rows.map((row) => ({ ...row, volatility: unknown(row) })),
    alpha,
  );
}

/** Why a report on networks shows no rows before the cut. */
export const NO_FOLDS =
  "Networks record no out-of-fold rows, and for the calibration rows they record only the figures of the verdict, so no chart can show them.";

/** The reason why there are no labelled rows. */
export function whyNoLabels({ rows, document }: OutputEvidence): string {
  if (document.warnings.some(({ code }) => code === "disabled")) {
    return "The job was disabled in its config, so there are no forecasts.";
  }
  if (rows.length === 0) return "The output has no forecasts.";
  return `No realised return is known for these forecasts yet.${document.operation === "run_dl_job" ? ` ${NO_FOLDS}` : ""}`;
}

/** The reason why no date has a correlation across tickers. */
export function whyNoOrder(evidence: OutputEvidence): string {
  if (evidence.dateCount === 0) return whyNoLabels(evidence);
  if (evidence.rows.length < MIN_ORDER_TICKERS) {
    return `An order across tickers needs at least ${MIN_ORDER_TICKERS} of them; the output has ${evidence.rows.length}.`;
  }
  return `No date has ${MIN_ORDER_TICKERS} tickers whose forecasts and returns differ.`;
}
