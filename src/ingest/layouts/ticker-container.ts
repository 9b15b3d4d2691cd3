import type { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import type { TickerSeries } from "../../contract/market/ticker-series.ts";
import { invalid, quote } from "../blob-errors.ts";
import type { BlockSpan } from "../block-store.ts";
import type { Calendar } from "../dates/calendar.ts";
import { claimTicker, type FoundTicker, positionOf, type Reading, type Steps } from "../reading.ts";
import type { TablesByTicker } from "./row-layouts.ts";
import type { SplitTable } from "./split-table.ts";

/** A ticker whose dates have not been read yet; its values are kept in the store. */
interface Undated extends FoundTicker {
  readonly block: BlockSpan;
}

interface WithValues extends FoundTicker {
  readonly values: Float64Array;
}

/** An object of the blob that contains tickers, or that wraps such an object. Its `dates` are the dates of all tickers inside. */
export class TickerContainer {
  /** Whether every unknown key must be a ticker, because the wrapper has the name that the kind of blob prefers. */
  readonly isStrict: boolean;
  hasTickers = false;
  /** The key of the wrapper that was read; other keys beside it are skipped. */
  wrapper: string | undefined;
  /** The key of the wrapper that was read; other keys next to it are skipped. */
  hasEmptyWrapper = false;
  /** The fault of the first unknown key that is not a ticker; it is thrown unless the container has a wrapper. */
  unknownKey: MucastError | undefined;
  table: SplitTable | undefined;
  tables: TablesByTicker | undefined;
  readonly #reading: Reading;
  readonly #parent: TickerContainer | undefined;
  #calendar: Calendar | undefined;
  #usedCalendarAbove = false;
  #undated: Undated[] = [];
  readonly #names = new Set<string>();

  constructor(reading: Reading, isStrict: boolean, parent?: TickerContainer) {
    this.#reading = reading;
    this.isStrict = isStrict;
    this.#parent = parent;
  }

  *setCalendar(calendar: Calendar, offset: number): Steps<void> {
    if (this.#usedCalendarAbove) {
      throw invalid(
        positionOf(this.#reading, offset),
        "dates come after tickers for which other dates were already used",
      );
    }
    if (this.#calendar !== undefined) {
      throw invalid(positionOf(this.#reading, offset), "there is a second array of dates");
    }
    this.#calendar = calendar;
    const undated = this.#undated;
    this.#undated = [];
    for (const waiting of undated) yield this.#dated(this.#loaded(waiting), calendar);
  }

  /**
   * Adds a ticker with shared dates, whose values are in the reading's buffer. Yields it at once if the dates are known, else once they are
   * read.
   */
  *addShared(found: FoundTicker): Steps<void> {
    claimTicker(this.#reading, found);
    const { buffer, store } = this.#reading;
    const calendar = this.#knownCalendar();
    if (calendar !== undefined) yield this.#dated({ ...found, values: buffer.copy() }, calendar);
    else this.#undated.push({ ...found, block: store.append(buffer.view()) });
  }

  /** Passes tickers that still have no dates on to the enclosing container; at the top this is an error, unless they have no rows. */
  *close(): Steps<void> {
    if (this.#parent !== undefined) {
      this.#parent.#undated.push(...this.#undated);
      return;
    }
    for (const { ticker, offset, columns, n } of this.#undated) {
      if (n > 0)
        throw invalid(
          positionOf(this.#reading, offset, ticker),
          "has no dates, and the blob has none for all",
        );
      yield { ticker, columns, days: new Int32Array(0), values: new Float64Array(0) };
    }
  }

  claimName(name: string, offset: number): void {
    if (this.#names.has(name)) throw invalid(positionOf(this.#reading, offset), `${quote(name)} comes twice`);
    this.#names.add(name);
  }

  #knownCalendar(): Calendar | undefined {
    if (this.#calendar !== undefined || this.#parent === undefined) return this.#calendar;
    const above = this.#parent.#knownCalendar();
    if (above !== undefined) this.#usedCalendarAbove = true;
    return above;
  }

  #dated({ ticker, offset, columns, n, values }: WithValues, calendar: Calendar): TickerSeries {
    const { days } = calendar;
    if (n !== days.length) {
      const what = `has columns of length ${n} beside ${counted(days.length, "date")}`;
      throw invalid(positionOf(this.#reading, offset, ticker), what);
    }
    calendar.arrange(values);
    return { ticker, days, columns, values };
  }

  #loaded({ ticker, offset, columns, n, block }: Undated): WithValues {
    const values = new Float64Array(block.length);
    this.#reading.store.read(block, 0, values);
    return { ticker, offset, columns, n, values };
  }
}
