import { atOnce } from "../../contract/machine/pausable.ts";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { type CoverageTable, coverageTable } from "../../evaluate/coverage.ts";
import { type ForecastRows, labelled } from "../../evaluate/forecast-rows.ts";
import { type ForecastTable, forecastTable } from "../../evaluate/forecast-table.ts";
import { type DateSkill, DateSkillCollector } from "../statistics/date-skill.ts";
import { type IntervalOutcomes, intervalOutcomes, type ScoredRows } from "../statistics/interval-outcomes.ts";
import type { OutputDocument } from "./open-document.ts";
import { outOfFoldRows, scoredRows } from "./scored-rows.ts";

/** What the sections of a report are made of. */
export interface OutputEvidence extends ScoreEvidence {
  /** Of the document, in errors. */
  readonly source: string;
  readonly document: OutputBlob;
  readonly modelName: string;
  readonly outOfFold: readonly ForecastRows[] | undefined;
}

/** What score rows are evidence of. */
interface ScoreEvidence {
  /** Tickers ascending by code point. */
  readonly rows: readonly ScoredRows[];
  /** Of `rows` those with a label, likewise; a ticker without one has none. */
  readonly labelled: readonly ForecastRows[];
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
}

/** @throws MucastError invalid_data where the lists of the output do not belong together. */
export function outputEvidence({ name, document }: OutputDocument): OutputEvidence {
  return {
    source: name,
    document,
    modelName: modelNameOf(document),
    outOfFold: outOfFoldRows(name, document),
    ...scoreEvidence(scoredRows(name, document), document.metrics.intervals?.alpha),
  };
}

/** @param alpha of the intervals; undefined without any. */
export function scoreEvidence(rows: readonly ScoredRows[], alpha: number | undefined): ScoreEvidence {
  const known = rows.map(labelled);
  const skill = new DateSkillCollector();
  const hasMeans = known.every(({ trainingMean }) => !trainingMean.some(Number.isNaN));
  const days = new Set<number>();
  for (const row of known) for (const day of row.days) days.add(day);
  return {
    rows,
    labelled: known,
    dateCount: days.size,
    table: atOnce(forecastTable(known, skill.onDate)),
    zeroTable: tableOf(known, ({ days }) => new Float64Array(days.length)),
    // Ranks of NaN do not exist, so without the means there is no table of them.
    meanTable: hasMeans ? tableOf(known, ({ trainingMean }) => trainingMean) : undefined,
    dates: skill.collected(),
    outcomes: rows.map(intervalOutcomes),
    coverage: alpha === undefined ? undefined : coverageOf(rows, alpha),
  };
}

function tableOf(
  rows: readonly ForecastRows[],
  forecast: (row: ForecastRows) => Float64Array,
): ForecastTable {
  return atOnce(forecastTable(rows.map((row) => ({ ...row, predicted: forecast(row) }))));
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

function modelNameOf({ model, operation }: OutputBlob): string {
  return typeof model.model === "string" ? model.model : operation;
}
