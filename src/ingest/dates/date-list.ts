import { MILLISECONDS_PER_DAY } from "../../contract/market/dates.ts";
import { invalid, type Position, quote } from "../blob-errors.ts";
import { Doubles } from "../json/doubles.ts";
import { Token } from "../json/json-reader.ts";
import { nameOf, pathOf, positionOf, type Reading, type Steps } from "../reading.ts";
import { Calendar } from "./calendar.ts";
import { dayOfEpoch, whyNoDate } from "./date-text.ts";

/**
 * An array that contains, or may contain, dates: an `index` can also number the rows of a table. So the error for the first element that is
 * not a date is kept, and thrown only when a caller needs the calendar.
 */
export class DateList {
  readonly #reading: Reading;
  readonly #name: string;
  readonly #ticker: string | undefined;
  /** Epoch milliseconds. */
  readonly #times = new Doubles();
  readonly #offsets = new Doubles();
  #fault: { readonly position: Position; readonly what: string } | undefined;

  constructor(reading: Reading, name: string, ticker?: string) {
    this.#reading = reading;
    this.#name = name;
    this.#ticker = ticker;
  }

  get length(): number {
    return this.#times.length;
  }

  *read(): Steps<void> {
    const { json } = this.#reading;
    const { depth } = json;
    for (;;) {
      let token = json.next();
      if (token === Token.more) token = yield* json.wait();
      if (token === Token.arrayEnd) return;
      if (token === Token.string) this.addText(json.text, json.day, json.offset);
      else if (token === Token.number) this.addNumber(json.number, json.offset, json.numberText);
      else {
        this.addFault(`is ${nameOf(token)}; a date is expected`, json.offset);
        yield* json.skip(depth);
      }
    }
  }

  addText(text: string, day: number, offset: number): void {
    if (Number.isNaN(day)) this.addFault(`${quote(text)} ${whyNoDate(text)}`, offset);
    else this.#add(day * MILLISECONDS_PER_DAY, offset);
  }

  /** @param time NaN for null, or for a number that is not finite, in a list of numbers. */
  addNumber(time: number, offset: number, text?: string): void {
    const read = text === undefined ? undefined : quote(text);
    const other = Number.isNaN(time) ? "null, or a number that is not finite," : String(time);
    if (Number.isNaN(dayOfEpoch(time))) this.addFault(`${read ?? other} ${whyNoDate(time)}`, offset);
    else this.#add(time, offset);
  }

  addFault(what: string, offset: number): void {
    const path =
      this.#ticker === undefined
        ? `${this.#name}[${this.length}]`
        : pathOf(this.#ticker, this.#name, this.length);
    this.#fault ??= { position: positionOf(this.#reading, offset, this.#ticker, path), what };
    this.#add(Number.NaN, offset);
  }

  calendar(): Calendar {
    if (this.#fault !== undefined) throw invalid(this.#fault.position, this.#fault.what);
    const days = Int32Array.from(this.#times.copy(), (time) => time / MILLISECONDS_PER_DAY);
    const path = this.#ticker === undefined ? this.#name : pathOf(this.#ticker, this.#name);
    return new Calendar(days, (row) =>
      positionOf(this.#reading, this.#offsets.values[row]!, this.#ticker, path),
    );
  }

  #add(time: number, offset: number): void {
    this.#times.push(time);
    this.#offsets.push(offset);
  }
}
