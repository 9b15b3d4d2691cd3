import { atOnce } from "../../contract/machine/pausable.ts";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { type ForecastRows, labelled } from "../../evaluate/forecast-rows.ts";
import { type ForecastTable, forecastTable } from "../../evaluate/forecast-table.ts";
import { type DateSkill, dateSkill } from "../statistics/date-skill.ts";
import type { OutputDocument } from "./open-document.ts";
import { outOfFoldRows, type ScoredRows, scoredRows } from "./scored-rows.ts";

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
  /** Forecasts of the historical mean on the labelled rows; undefined where the output does not have the means. */
  readonly historicalMean: readonly ForecastRows[] | undefined;
  /** Distinct dates with a label. */
  readonly dateCount: number;
  readonly table: ForecastTable;
  /** IC and RankIC of the dates that count. */
  readonly dates: DateSkill;
}

/** @throws MucastError invalid_data where the lists of the output do not belong together. */
export function outputEvidence({ name, document }: OutputDocument): OutputEvidence {
  return {
    source: name,
    document,
    modelName: modelNameOf(document),
    outOfFold: outOfFoldRows(name, document),
    ...scoreEvidence(scoredRows(name, document)),
  };
}

export function scoreEvidence(rows: readonly ScoredRows[]): ScoreEvidence {
  const known = rows.map(labelled);
  const hasMeans = known.every(({ trainingMean }) => !trainingMean.some(Number.isNaN));
  const days = new Set(known.flatMap((row) => [...row.days]));
  return {
    rows,
    labelled: known,
    historicalMean: hasMeans ? known.map((row) => ({ ...row, predicted: row.trainingMean })) : undefined,
    dateCount: days.size,
    table: atOnce(forecastTable(known)),
    dates: dateSkill(known),
  };
}

function modelNameOf({ model, operation }: OutputBlob): string {
  return typeof model.model === "string" ? model.model : operation;
}
