import { commonRows, forecastRows, type RowForecasts } from "./forecast-file.ts";
import {
  type IcDifference,
  type IcsByDate,
  icDifference,
  icsByDate,
  largestDifference,
} from "./ic-difference.ts";
import type { JudgedTicker } from "./judged-rows.ts";
import { type Score, scoreForecasts } from "./score-forecasts.ts";
import type { SkillRow } from "./skill-rows.ts";

/** A row of the table as written by `--out`. */
export interface ScoredRow extends Score {
  readonly name: string;
  readonly what: string;
  readonly by: SkillRow["by"];
  readonly seconds: number;
  readonly processorSeconds: number | null;
}

/** A row of the table compared with other rows. */
export interface Comparison {
  readonly name: string;
  /** Minus the row that it names as `than`. */
  readonly less?: IcDifference & { readonly row: string };
  /** Compared with the row that it names as `sameAs`. */
  readonly beside?: { readonly row: string; readonly largest: number };
}

interface Done extends RowForecasts {
  readonly row: SkillRow;
}

/** Its scores on the rows that all rows of the table forecast. */
interface Scores {
  readonly score: Score;
  readonly ics: IcsByDate;
}

/** Rows of the table as they finish, scored on the rows that all of them forecast. */
export class ScoredRows {
  readonly #judged: readonly JudgedTicker[];
  readonly #done: Done[] = [];
  #common: readonly Int32Array[];
  #scores: Scores[] = [];

  constructor(judged: readonly JudgedTicker[]) {
    this.#judged = judged;
    this.#common = commonRows(judged, []);
  }

  /** The number of judged rows that some row of the table does not forecast. */
  get lacking(): number {
    return total(commonRows(this.#judged, [])) - total(this.#common);
  }

  add(row: SkillRow, read: RowForecasts): void {
    this.#done.push({ row, ...read });
    const common = commonRows(
      this.#judged,
      this.#done.map(({ forecasts }) => forecasts),
    );
    if (total(common) !== total(this.#common)) this.#scores = [];
    this.#common = common;
    for (const done of this.#done.slice(this.#scores.length)) this.#scores.push(this.#scoresOf(done));
  }

  get rows(): ScoredRow[] {
    return this.#done.map(({ row, seconds, processorSeconds }, i) => ({
      name: row.name,
      what: row.what,
      by: row.by,
      ...this.#scores[i]!.score,
      seconds,
      processorSeconds,
    }));
  }

  /** For the rows that name another finished row. */
  get comparisons(): Comparison[] {
    return this.#done.flatMap(({ row: { name, than, sameAs }, forecasts }, i) => {
      const [baseline, twin] = [this.#indexOf(than), this.#indexOf(sameAs)];
      if (baseline < 0 && twin < 0) return [];
      const less = () => ({
        row: than!,
        ...icDifference(this.#scores[i]!.ics, this.#scores[baseline]!.ics),
      });
      const beside = () => ({
        row: sameAs!,
        largest: largestDifference(this.#common, forecasts, this.#done[twin]!.forecasts),
      });
      return [{ name, ...(baseline < 0 ? {} : { less: less() }), ...(twin < 0 ? {} : { beside: beside() }) }];
    });
  }

  #scoresOf({ row, forecasts }: Done): Scores {
    const rows = forecastRows(this.#judged, this.#common, forecasts);
    const score = scoreForecasts(rows, row.by === "mucast" || row.isReturn);
    return { score, ics: icsByDate(rows) };
  }

  /** -1 if there is no such finished row. */
  #indexOf(name: string | undefined): number {
    return this.#done.findIndex(({ row }) => row.name === name);
  }
}

function total(rows: readonly Int32Array[]): number {
  return rows.reduce((sum, { length }) => sum + length, 0);
}
