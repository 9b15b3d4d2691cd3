import { type Day, formatDay, MILLISECONDS_PER_DAY, parseDay } from "../../contract/market/dates.ts";
import type { RequestedWindow } from "../../contract/market/ticker-series.ts";
import { invalid, kindOf, type Position, quote } from "./faults.ts";

/** Days of the years 0000 and 9999, the range of `YYYY-MM-DD`. */
const FIRST_DAY = -719_528;
const LAST_DAY = 2_932_896;
const EPOCH_TEXT = /^-?\d{1,15}$/;

/**
 * Day of a date in a blob's strings and keys: the first ten characters of an ISO date, or epoch milliseconds at midnight UTC.
 * @returns NaN if the text is neither.
 */
export function dayOfText(text: string): Day {
  const first = text.charCodeAt(0);
  if (!((first >= 48 && first <= 57) || first === 45)) return Number.NaN;
  return parseDay(text) ?? (EPOCH_TEXT.test(text) ? dayOfEpoch(Number(text)) : Number.NaN);
}

/** Day of epoch milliseconds. @returns NaN if they are not midnight UTC of a year from 0000 to 9999. */
export function dayOfEpoch(milliseconds: number): Day {
  const day = milliseconds / MILLISECONDS_PER_DAY;
  return Number.isInteger(day) && day >= FIRST_DAY && day <= LAST_DAY ? day + 0 : Number.NaN;
}

/** If names and dates can both occur, fewer digits than this are a name, such as the column 0 or the ticker 7203. */
const MIN_EPOCH_DIGITS = 8;

/** Whether a key that could also be a name is a date. */
export function isDateKey(text: string): boolean {
  return text.length >= MIN_EPOCH_DIGITS && !Number.isNaN(dayOfText(text));
}

/** Why a text or number is not a date: a clause for a message. */
export function whyNoDate(value: string | number): string {
  return typeof value === "number" || EPOCH_TEXT.test(value)
    ? "is not a date: epoch milliseconds must be midnight UTC"
    : "is not a date: YYYY-MM-DD, optionally with a time, is expected";
}

/** Day of a value. @throws MucastError invalid_data if it is no date. */
export function dayOf(value: unknown, position: Position): Day {
  if (typeof value !== "string" && typeof value !== "number")
    throw invalid(position, `is ${kindOf(value)}; a date is expected`);
  const day = typeof value === "number" ? dayOfEpoch(value) : dayOfText(value);
  if (Number.isNaN(day)) throw invalid(position, `${quote(String(value))} ${whyNoDate(value)}`);
  return day;
}

/** The dates of one ticker, or of all, in ascending order, and the permutation that sorts their values. */
export class Calendar {
  /** Strictly ascending. */
  readonly days: Int32Array;
  /** Sorted row i is row `order[i]` of the blob; absent if the blob's dates ascend. */
  readonly #order: Uint32Array | undefined;

  /** @param days one per row, in the blob's order. @throws MucastError invalid_data if a date occurs twice. */
  constructor(days: ArrayLike<Day>, position: Position) {
    this.days = Int32Array.from(days);
    if (this.days.every((day, i) => i === 0 || day > this.days[i - 1]!)) return;
    this.#order = Uint32Array.from(days, (_, i) => i).sort((a, b) => days[a]! - days[b]!);
    this.days = Int32Array.from(this.#order, (row) => days[row]!);
    const twice = this.days.findIndex((day, i) => i > 0 && day === this.days[i - 1]);
    if (twice > 0) throw invalid(position, `has the date ${formatDay(this.days[twice]!)} twice`);
  }

  /** Permutes the k columns of length n in `values` into the order of `days`, in place. */
  arrange(values: Float64Array): void {
    const order = this.#order;
    if (order === undefined) return;
    const n = order.length;
    const column = new Float64Array(n);
    for (let at = 0; at < values.length; at += n) {
      for (let i = 0; i < n; i++) column[i] = values[at + order[i]!]!;
      values.set(column, at);
    }
  }
}

type Bound = keyof RequestedWindow;

const BOUNDS: ReadonlyMap<string, Bound> = new Map([
  ["start", "start"],
  ["start_date", "start"],
  ["sample_start", "start"],
  ["end", "end"],
  ["end_date", "end"],
  ["sample_end", "end"],
]);

/** Keys whose object may contain the bounds of the window. */
export const WINDOW_HOLDERS: ReadonlySet<string> = new Set(["dates", "window", "sample", "metadata"]);

/** The bound that a key defines, if any. `Learning_end` is accepted in any case. */
export function boundOf(name: string): Bound | undefined {
  return BOUNDS.get(name) ?? (name.toLowerCase() === "learning_end" ? "learningEnd" : undefined);
}

/** Collects the bounds of the window from all names that can define one. */
export class WindowBounds {
  readonly #source: string;
  readonly #days = new Map<Bound, { readonly day: Day; readonly name: string }>();

  constructor(source: string) {
    this.#source = source;
  }

  window(): RequestedWindow {
    return Object.fromEntries([...this.#days].map(([bound, { day }]) => [bound, day]));
  }

  /**
   * Null defines no bound, and neither does a name that is none.
   * @throws MucastError invalid_data if the value is not a date, or differs from the bound under another name.
   */
  add(name: string, value: unknown): void {
    const bound = boundOf(name);
    if (bound === undefined || value === null) return;
    const position = { source: this.#source, path: name };
    const day = dayOf(value, position);
    const other = this.#days.get(bound);
    if (other !== undefined && other.day !== day)
      throw invalid(position, `is ${formatDay(day)}, but ${quote(other.name)} is ${formatDay(other.day)}`);
    this.#days.set(bound, { day, name });
  }
}
