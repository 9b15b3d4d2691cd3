import { atOnce } from "../../contract/machine/pausable.ts";
import type { Verdict } from "../../contract/output/verdict.ts";
import { meanForecast, zeroForecast } from "../../evaluate/baselines.ts";
import type { ForecastRows } from "../../evaluate/forecast-rows.ts";
import { type ForecastTable, forecastTable } from "../../evaluate/forecast-table.ts";
import { type CoverageTable, coverageTable } from "../../evaluate/intervals/coverage.ts";
import { laidByDate, type RowsByDate } from "../../evaluate/rows-by-date.ts";
import { tableRows } from "../../evaluate/table-rows.ts";
import type { OutputDocument } from "../../outputs/open-document.ts";
import { modelNameOf, type OutputSummary } from "../../outputs/output-summary.ts";
import { outputVerdict } from "../../outputs/output-verdict.ts";
import type { ScoredRows } from "../../outputs/scored-rows.ts";
import { type DateSkill, DateSkillCollector } from "../statistics/date-skill.ts";
import {
  type DateCoverage,
  dateCoverage,
  type IntervalOutcomes,
  intervalOutcomes,
  outcomesByDate,
} from "../statistics/interval-outcomes.ts";

/** What the sections of a report are made of. */
export interface OutputEvidence extends ScoreEvidence {
  /** Of the document, in errors. */
  readonly source: string;
  /** Of the document, as stored. */
  readonly sha256: string;
  readonly document: OutputSummary;
  readonly modelName: string;
  readonly outOfFold: readonly ForecastRows[] | undefined;
  /** What the forecasts are worth; undefined without a ticker. */
  readonly verdict: Verdict | undefined;
}

/** What score rows are evidence of. */
interface ScoreEvidence {
  /** Tickers ascending by code point. */
  readonly rows: readonly ScoredRows[];
  /** Of `rows` those with a label, likewise; a ticker without one has none. */
  readonly labelled: readonly ForecastRows[];
  /** The rows of `labelled`, date after date. */
  readonly byDate: RowsByDate;
  /** Distinct dates with a label. */
  readonly dateCount: number;
  readonly table: ForecastTable;
  /** Of the zero forecast on the same rows, and of the historical mean, undefined where the output does not have the means. */
  readonly zeroTable: ForecastTable;
  readonly meanTable: ForecastTable | undefined;
  /** IC and RankIC of the dates that count. */
  readonly dates: DateSkill;
  /** What the intervals held, where the output has any. */
  readonly coverage: CoverageTable | undefined;
  /** Of the same tickers as `rows`. */
  readonly outcomes: readonly IntervalOutcomes[];
  /** The outcomes of all tickers, date after date, and how many held. */
  readonly outcomesByDate: RowsByDate;
  readonly dateCoverage: DateCoverage;
}

export function outputEvidence(output: OutputDocument): OutputEvidence {
  const { name, sha256, document, rows, outOfFold } = output;
  return {
    source: name,
    sha256,
    document,
    modelName: modelNameOf(document),
    outOfFold,
    verdict: outputVerdict(output),
    ...scoreEvidence(rows, document.metrics.intervals?.alpha),
  };
}

/** @param alpha of the intervals; undefined without any. */
export function scoreEvidence(rows: readonly ScoredRows[], alpha: number | undefined): ScoreEvidence {
  const table = atOnce(tableRows(rows));
  const { tickers, byDate } = table;
  const { first, starts } = byDate.layout;
  const laid = (parts: readonly Float64Array[]) => atOnce(laidByDate(byDate.layout, parts));
  const predicted = tickers.map((ticker) => ticker.predicted);
  const skill = new DateSkillCollector();
  const hasMeans = !table.trainingMean.some(Number.isNaN);
  const outcomes = rows.map(intervalOutcomes);
  const laidOutcomes = outcomesByDate(outcomes);
  return {
    rows,
    labelled: tickers,
    byDate: {
      first,
      starts,
      predicted: laid(predicted),
      realised: laid(tickers.map((ticker) => ticker.realised)),
    },
    dateCount: starts.filter((start, d) => d > 0 && start > starts[d - 1]!).length,
    table: atOnce(forecastTable(table, predicted, skill.onDate)),
    zeroTable: atOnce(forecastTable(table, tickers.map(zeroForecast))),
    // Ranks of NaN do not exist, so without the means there is no table of them.
    meanTable: hasMeans ? atOnce(forecastTable(table, tickers.map(meanForecast))) : undefined,
    dates: skill.collected(),
    outcomes,
    outcomesByDate: laidOutcomes,
    dateCoverage: dateCoverage(laidOutcomes),
    coverage: alpha === undefined ? undefined : coverageOf(rows, alpha),
  };
}

/** Without the returns before a row, no day counts as one of high volatility. */
function coverageOf(rows: readonly ScoredRows[], alpha: number): CoverageTable {
  const unknown = (row: ScoredRows) => new Float64Array(row.days.length).fill(Number.NaN);
  return atOnce(
    coverageTable(
      rows.map((row) => ({ ...row, volatility: unknown(row) })),
      alpha,
    ),
  );
}
