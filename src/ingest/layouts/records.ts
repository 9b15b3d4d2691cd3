import { type Day, formatDay } from "../../contract/market/dates.ts";
import { invalid, quote } from "../blob-errors.ts";
import type { ColumnRole } from "../column-names.ts";
import { dayOfEpoch, whyNoDate } from "../dates/date-text.ts";
import { type JsonReader, Token } from "../json/json-reader.ts";
import { checkColumnCount, nameOf, pathOf, positionOf, type Reading, type Steps } from "../reading.ts";
import type { RowTable } from "./row-table.ts";

interface Cell {
  name: string;
  role: ColumnRole;
  token: Token;
  value: number;
  /** The string, the number in place of a date that is not one, or "". */
  text: string;
  day: Day;
  offset: number;
}

interface RecordContext {
  readonly ticker?: string;
  readonly day?: Day;
}

/** The cells of one object. The whole object is read first, because ticker and date may come last. */
export class BlobRecord {
  ticker = "";
  day: Day = Number.NaN;
  readonly #reading: Reading;
  readonly #cells: Cell[] = [];
  #length = 0;
  #offset = 0;

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  /** Reads an object whose start was just read. In a price blob, it keeps only dates, tickers and prices. */
  *read(): Steps<void> {
    const { json, kind, roles } = this.#reading;
    const depth = json.depth;
    this.#length = 0;
    this.#offset = json.offset;
    for (;;) {
      let token = json.next();
      if (token === Token.more) token = yield* json.wait();
      if (token === Token.objectEnd) return;
      const name = json.text;
      const role = roles.of(name);
      if (kind === "prices" && role.role === "value") {
        while (!json.skipTo(depth)) yield;
        continue;
      }
      token = json.next();
      if (token === Token.more) token = yield* json.wait();
      this.#keep(name, role, token);
      if (token === Token.objectStart || token === Token.arrayStart) yield* json.skip(depth);
    }
  }

  /** Sets the record's ticker and day. */
  locate(context: RecordContext): void {
    const ticker = this.#only("ticker") ?? (context.ticker === undefined ? this.#only("name") : undefined);
    if (ticker !== undefined) this.ticker = this.#tickerOf(ticker, context.ticker);
    else if (context.ticker !== undefined) this.ticker = context.ticker;
    else throw invalid(positionOf(this.#reading, this.#offset), "a record has no ticker or symbol");
    const date = this.#only("date");
    if (date !== undefined) this.day = this.#dayOf(date, context.day);
    else if (context.day !== undefined) this.day = context.day;
    else throw invalid(positionOf(this.#reading, this.#offset, this.ticker), "has a record without date");
  }

  /** Adds the located record to the rows of its ticker. */
  addTo(table: RowTable): void {
    table.begin(this.day, this.#offset);
    for (let i = 0; i < this.#length; i++) {
      const { name, role, token, value, offset } = this.#cells[i]!;
      if (role.role !== "price" && role.role !== "value") continue;
      if (token !== Token.number && token !== Token.null) {
        throw invalid(this.#positionOf(name, offset), `is ${nameOf(token)}; a number or null is expected`);
      }
      if (!table.put(name, value)) throw invalid(this.#positionOf(name, offset), "comes twice");
    }
    table.end();
  }

  #keep(name: string, role: ColumnRole, token: Token): void {
    const { json } = this.#reading;
    const value = token === Token.number ? json.number : Number.NaN;
    if (role.role === "ticker" && token === Token.string) json.checkName();
    // In another column, a string is a fault, whose message does not quote it.
    const text = role.role === "value" ? "" : textOf(json, token, role);
    const day = token === Token.string ? json.day : Number.NaN;
    const { offset } = json;
    checkColumnCount(this.#reading, this.#length, offset);
    const cell = this.#cells[this.#length++];
    if (cell === undefined) this.#cells.push({ name, role, token, value, text, day, offset });
    else {
      cell.name = name;
      cell.role = role;
      cell.token = token;
      cell.value = value;
      cell.text = text;
      cell.day = day;
      cell.offset = offset;
    }
  }

  /**
   * The cell of a role. A price blob may have several; the one of the lowest rank counts. In a feature blob several are a fault, because
   * the others would silently not become features.
   */
  #only(role: "date" | "ticker" | "name"): Cell | undefined {
    let best: Cell | undefined;
    for (let i = 0; i < this.#length; i++) {
      const cell = this.#cells[i]!;
      if (cell.role.role !== role) continue;
      if (best !== undefined && (this.#reading.kind === "features" || best.role.rank === cell.role.rank)) {
        const what = `a record has two ${role}s, ${quote(best.name)} and ${quote(cell.name)}`;
        throw invalid(positionOf(this.#reading, cell.offset), what);
      }
      if (best === undefined || cell.role.rank < best.role.rank) best = cell;
    }
    return best;
  }

  #tickerOf({ name, token, text, value, offset }: Cell, expected: string | undefined): string {
    const ticker = token === Token.number && Number.isSafeInteger(value) ? String(value) : text;
    if (token !== Token.string && ticker === "") {
      throw invalid(
        positionOf(this.#reading, offset, expected),
        `${quote(name)} is ${nameOf(token)}; a string is expected`,
      );
    }
    if (expected === undefined || ticker === expected) return ticker;
    throw invalid(positionOf(this.#reading, offset, expected), `has a record of ${quote(ticker)}`);
  }

  #dayOf({ name, token, text, value, day: dayOfText, offset }: Cell, expected: Day | undefined): Day {
    const position = positionOf(this.#reading, offset, this.ticker, pathOf(this.ticker, name));
    if (token !== Token.string && token !== Token.number) {
      throw invalid(position, `is ${nameOf(token)}; a date is expected`);
    }
    const day = token === Token.number ? dayOfEpoch(value) : dayOfText;
    if (Number.isNaN(day)) {
      throw invalid(position, `${quote(text)} ${whyNoDate(token === Token.number ? value : text)}`);
    }
    if (expected === undefined || day === expected) return day;
    throw invalid(position, `is ${formatDay(day)} in the record of ${formatDay(expected)}`);
  }

  #positionOf(name: string, offset: number) {
    return positionOf(this.#reading, offset, this.ticker, pathOf(this.ticker, formatDay(this.day), name));
  }
}

/** The string that was just read, or the number in place of a date that is not one; "" for any other token. */
function textOf(json: JsonReader, token: Token, { role }: ColumnRole): string {
  if (token === Token.string) return json.text;
  const isFault = token === Token.number && role === "date" && Number.isNaN(dayOfEpoch(json.number));
  return isFault ? json.numberText : "";
}
