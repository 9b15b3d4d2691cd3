import { type IcDifference, type IcsByDate, icDifference, icsByDate } from "./ic-difference.ts";
import {
  commonRows,
  type ForecastFile,
  type Forecasts,
  forecastRows,
  type JudgedTicker,
  judgedForecasts,
} from "./judged-rows.ts";
import { type Score, scoreForecasts } from "./scores.ts";
import type { SkillRow } from "./skill-rows.ts";

/** A row of the table as written by `--out`. */
export interface ScoredRow extends Score {
  readonly name: string;
  readonly what: string;
  readonly by: SkillRow["by"];
  readonly seconds: number;
  readonly processorSeconds: number | null;
}

/** A row of the table minus the row that it names as `than`. */
export interface Comparison extends IcDifference {
  readonly name: string;
  readonly than: string;
}

interface Done {
  readonly row: SkillRow;
  readonly forecasts: Forecasts;
  readonly seconds: number;
  readonly processorSeconds: number | null;
}

/** Its scores on the rows that all rows of the table forecast. */
interface Scores {
  readonly score: Score;
  readonly ics: IcsByDate;
}

/** Rows of the table as they finish, scored on the rows that all of them forecast. */
export class ScoredRows {
  readonly #judged: readonly JudgedTicker[];
  readonly #delay: number;
  readonly #done: Done[] = [];
  #common: readonly Int32Array[];
  #scores: Scores[] = [];

  constructor(judged: readonly JudgedTicker[], delay: number) {
    this.#judged = judged;
    this.#delay = delay;
    this.#common = commonRows(judged, []);
  }

  /** The number of judged rows that some row of the table does not forecast. */
  get lacking(): number {
    return total(commonRows(this.#judged, [])) - total(this.#common);
  }

  add(row: SkillRow, { forecasts, seconds, processor_seconds }: ForecastFile): void {
    this.#done.push({
      row,
      forecasts: judgedForecasts(forecasts, this.#judged),
      seconds,
      processorSeconds: processor_seconds,
    });
    const common = commonRows(
      this.#judged,
      this.#done.map(({ forecasts }) => forecasts),
    );
    if (total(common) !== total(this.#common)) this.#scores = [];
    this.#common = common;
    for (const done of this.#done.slice(this.#scores.length)) this.#scores.push(this.#scoresOf(done));
  }

  get rows(): ScoredRow[] {
    return this.#done.map(({ row: { name, what, by }, seconds, processorSeconds }, i) => ({
      name,
      what,
      by,
      ...this.#scores[i]!.score,
      seconds,
      processorSeconds,
    }));
  }

  /** For the rows that name another finished row. */
  get comparisons(): Comparison[] {
    return this.#done.flatMap(({ row: { name, than } }, i) => {
      const baseline = this.#done.findIndex(({ row }) => row.name === than);
      if (than === undefined || baseline < 0) return [];
      return [{ name, than, ...icDifference(this.#scores[i]!.ics, this.#scores[baseline]!.ics) }];
    });
  }

  #scoresOf({ row, forecasts }: Done): Scores {
    const rows = forecastRows(this.#judged, this.#common, forecasts);
    const score = scoreForecasts(rows, this.#delay, row.by === "mucast" || row.isReturn);
    return { score, ics: icsByDate(rows) };
  }
}

function total(rows: readonly Int32Array[]): number {
  return rows.reduce((sum, { length }) => sum + length, 0);
}
