import { invalid, quote } from "../blob-errors.ts";
import { NO_MIDNIGHT, whyNoDate } from "../dates/date-text.ts";
import { isSameText, textAt } from "./byte-strings.ts";
import type { Cursor } from "./cursor.ts";
import type { RowGroup, StoredFile } from "./footer.ts";
import { toDays, toNumbers, valueText, type Zones } from "./numbers.ts";
import { type Page, PageReader } from "./pages.ts";
import { readRuns } from "./runs.ts";
import type { LeafColumn } from "./schema.ts";
import { encodingName, isDictionaryEncoded, readValues, type Values } from "./values.ts";

export interface GroupColumn {
  readonly column: LeafColumn;
  readonly index: number;
  readonly group: RowGroup;
  /** Rows of the table before the group. */
  readonly before: number;
}

/** The distinct tickers of a table: `numberOf` counts them in the order in which they first appear. */
export interface TickerNumbers {
  numberOf(ticker: string, offset: number): number;
}

/** A data page with its values, or with the dictionary and the index of each value in it. */
interface DataPage {
  readonly page: Page;
  /** The group's rows before the page. */
  readonly row: number;
  readonly values: Values;
  /** Undefined if there is one value per row. */
  readonly indices: Uint32Array | undefined;
  /** Whether `values` is the dictionary of the page before as well. */
  readonly isRepeated: boolean;
}

/** Reads columns of row groups, one page at a time. */
export class ColumnReader {
  readonly #pages: PageReader;
  readonly #source: string;
  readonly #zonesOf: (column: string) => Zones;

  constructor(stored: StoredFile, zonesOf: (column: string) => Zones) {
    this.#pages = new PageReader(stored);
    this.#source = stored.source;
    this.#zonesOf = zonesOf;
  }

  /**
   * Writes the number of row i to `into[slots[i]]`, or to `into[i]` without slots; NaN for a null.
   * @param into shape (rows).
   */
  numbers({ column, index, group }: GroupColumn, slots: Uint32Array | undefined, into: Float64Array): void {
    let numbers = new Float64Array(0);
    for (const { page, row, values, indices, isRepeated } of this.#dataPages(column, index, group)) {
      const { count, defined } = page;
      if (slots === undefined && indices === undefined && isFloat(values)) {
        copyFinite(values, defined, into.subarray(row, row + count));
        continue;
      }
      if (!isRepeated) numbers = toNumbers(values, column) as Float64Array<ArrayBuffer>;
      let next = 0;
      for (let i = 0; i < count; i++) {
        const at = slots === undefined ? row + i : slots[row + i]!;
        if (defined !== undefined && defined[i] === 0) into[at] = Number.NaN;
        else {
          into[at] = numbers[indices === undefined ? next : indices[next]!]!;
          next++;
        }
      }
    }
  }

  /** The day of each row. */
  days(of: GroupColumn): Int32Array {
    const { column, index, group } = of;
    const found = new Int32Array(group.rows);
    const zones = this.#zonesOf(column.name);
    let days = new Float64Array(0);
    for (const { page, row, values, indices, isRepeated } of this.#dataPages(column, index, group)) {
      if (!isRepeated) days = toDays(values, column, page.cursor, zones) as Float64Array<ArrayBuffer>;
      let next = 0;
      for (let i = 0; i < page.count; i++) {
        if (page.defined?.[i] === 0) throw this.#fault(of, page, row + i, "is null; a date is expected");
        const at = indices === undefined ? next : indices[next]!;
        next++;
        const day = days[at]!;
        if (Number.isNaN(day)) throw this.#fault(of, page, row + i, noDate(column, values, at, page.cursor));
        found[row + i] = day;
      }
    }
    return found;
  }

  /** The ticker of each row, as a number. */
  tickers(of: GroupColumn, tickers: TickerNumbers): Uint32Array {
    const { column, index, group } = of;
    const found = new Uint32Array(group.rows);
    /** By value, its ticker's number plus one; a dictionary may contain tickers that no row has. */
    let numbers = new Uint32Array(0);
    for (const { page, row, values, indices, isRepeated } of this.#dataPages(column, index, group)) {
      if (!isRepeated) numbers = new Uint32Array(lengthOf(values));
      let next = 0;
      for (let i = 0; i < page.count; i++) {
        if (page.defined?.[i] === 0) throw this.#fault(of, page, row + i, "is null; a ticker is expected");
        const at = indices === undefined ? next : indices[next]!;
        next++;
        if (numbers[at] === 0) {
          const isSame =
            indices === undefined && at > 0 && "offsets" in values && isSameText(values, at - 1, at);
          numbers[at] = isSame
            ? numbers[at - 1]!
            : 1 + tickers.numberOf(this.#ticker(of, page, row + i, values, at), page.cursor.part.offset);
        }
        found[row + i] = numbers[at]! - 1;
      }
    }
    return found;
  }

  #ticker(of: GroupColumn, page: Page, row: number, values: Values, at: number): string {
    if ("offsets" in values) return textAt(values, at, page.cursor);
    const number = toNumbers(values.subarray(at, at + 1).slice() as Values, of.column)[0]!;
    if (Number.isSafeInteger(number)) return String(number);
    throw this.#fault(of, page, row, `is ${number}; a ticker is a text or a whole number up to 2^53`);
  }

  *#dataPages(column: LeafColumn, index: number, group: RowGroup): Generator<DataPage, void, void> {
    let dictionary: Values | undefined;
    let isRepeated = false;
    let row = 0;
    for (const page of this.#pages.pages(column, group.chunks[index]!, group.rows)) {
      const { cursor, encoding, present } = page;
      if (page.kind === "dictionary") {
        if (dictionary !== undefined) throw cursor.fault("has two dictionaries in a row group");
        dictionary = readValues(cursor, encoding, column.physical, page.count);
        continue;
      }
      if (!isDictionaryEncoded(encoding)) {
        const values = readValues(cursor, encoding, column.physical, present);
        yield { page, row, values, indices: undefined, isRepeated: false };
        isRepeated = false;
      } else {
        if (dictionary === undefined)
          throw cursor.fault(`has a page in the encoding ${encodingName(encoding)} without a dictionary`);
        const indices = readIndices(cursor, present, lengthOf(dictionary));
        yield { page, row, values: dictionary, indices, isRepeated };
        isRepeated = true;
      }
      row += page.count;
    }
  }

  #fault({ column, before }: GroupColumn, { cursor }: Page, row: number, what: string) {
    const path = `${quote(column.name)}[${before + row}]`;
    return invalid({ source: this.#source, offset: cursor.part.offset, path }, what);
  }
}

function isFloat(values: Values): values is Float64Array | Float32Array {
  return values instanceof Float64Array || values instanceof Float32Array;
}

/** Writes the numbers of successive rows; NaN for a null and for a number that is not finite, as `toNumbers` does. */
function copyFinite(
  values: Float64Array | Float32Array,
  defined: Uint8Array | undefined,
  into: Float64Array,
): void {
  let next = 0;
  for (let i = 0; i < into.length; i++) {
    if (defined !== undefined && defined[i] === 0) {
      into[i] = Number.NaN;
      continue;
    }
    const number = values[next++]!;
    // Only the difference of finite numbers is 0.
    into[i] = number - number === 0 ? number : Number.NaN;
  }
}

function readIndices(cursor: Cursor, count: number, size: number): Uint32Array {
  const indices = new Uint32Array(count);
  if (count === 0) return indices;
  readRuns(cursor, cursor.byte(), indices);
  for (let i = 0; i < count; i++) {
    if (indices[i]! >= size)
      throw cursor.fault(`has the index ${indices[i]} into a dictionary of ${size} values`);
  }
  return indices;
}

function lengthOf(values: Values): number {
  return "offsets" in values ? values.offsets.length : values.length;
}

function noDate(column: LeafColumn, values: Values, at: number, cursor: Cursor): string {
  const text = valueText(values, at, cursor);
  if ("offsets" in values) return `is ${quote(text)}, which ${whyNoDate(text)}`;
  const { logical } = column;
  if (logical.kind === "timestamp") return `is ${text} ${logical.unit} since 1970, which ${NO_MIDNIGHT}`;
  return `is ${text}, which ${whyNoDate(Number(text))}`;
}
