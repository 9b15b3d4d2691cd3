import type { Day } from "../../contract/market/dates.ts";
import type { OnDate } from "../../evaluate/cross-section.ts";

/** IC and RankIC of each date that counts, ascending: shape (n) each. */
export interface DateSkill {
  readonly days: Int32Array;
  readonly ic: Float64Array;
  readonly rankIc: Float64Array;
  /** The number of tickers of the date. */
  readonly tickers: Int32Array;
}

/** Collects the values of `crossSection` by date. */
export class DateSkillCollector {
  readonly #found: { day: Day; ic: number; rankIc: number; tickers: number }[] = [];

  readonly onDate: OnDate = (day, { ic, rankIc }, tickers) => {
    this.#found.push({ day, ic, rankIc, tickers });
  };

  collected(): DateSkill {
    return {
      days: Int32Array.from(this.#found, ({ day }) => day),
      ic: Float64Array.from(this.#found, ({ ic }) => ic),
      rankIc: Float64Array.from(this.#found, ({ rankIc }) => rankIc),
      tickers: Int32Array.from(this.#found, ({ tickers }) => tickers),
    };
  }
}
