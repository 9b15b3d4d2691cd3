import { MucastError } from "../../contract/errors/errors.ts";
import { show } from "../../contract/errors/faults.ts";

export type DecimalMark = "." | ",";

const MISSING = new Set([
  "",
  "na",
  "n/a",
  "#n/a",
  "#n/a n/a",
  "nan",
  "null",
  "none",
  "nil",
  "nat",
  "-",
  "--",
  ".",
]);
const INFINITE = /^[+-]?inf(?:inity)?$/;
const PLAIN = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?$/i;
const POINT_THOUSANDS = /^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?$/;
const COMMA = /^[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d*(?:e[+-]?\d{1,3})?$/i;
const WHOLE = /^[+-]?\d+(?:e[+-]?\d{1,3})?$/i;
const COMMA_THOUSANDS = /^[+-]?[1-9]\d{0,2}(?:\.\d{3})+$/;

/** Whether a cell means no price: blank, NA, N/A, #N/A, NaN, null, None, -, an infinity, in any case. */
export function isMissing(text: string): boolean {
  const lower = text.toLowerCase();
  return MISSING.has(lower) || INFINITE.test(lower);
}

interface Met {
  readonly text: string;
  readonly line: number;
  /** In a file of prices, the ticker of the cell; in one of features, its column. */
  readonly name: string;
}

/** What the author of a text that is not a number can do. */
export interface NumberHints {
  readonly currency: string;
  readonly letters: string;
}

export const PRICE_HINTS: NumberHints = {
  currency: "; write prices without a currency sign",
  // For example in a column `Currency` next to the columns of the tickers, or in a long file with a misspelt header.
  letters:
    "; leave out the columns of a wide file that are no ticker's, or name those of a long file Date, Ticker and Adj Close",
};

const CURRENCY_SIGN = /\p{Sc}/u;

/**
 * Numbers with a decimal point or a decimal comma, with or without thousands separators. `1,234` by itself can be either, and so can
 * `1.234` beside `999`, so all cells of a file together decide its decimal mark.
 */
export class NumberColumn {
  readonly #source: string;
  readonly #mark: DecimalMark;
  readonly #hints: NumberHints;
  #point: Met | undefined;
  #comma: Met | undefined;
  #either: Met | undefined;
  /** By column, the first number like 1.234; the columns with numbers like 999, and with numbers like 1234. */
  readonly #grouped = new Map<string, Met>();
  readonly #short = new Set<string>();
  readonly #long = new Set<string>();

  /** @param mark the decimal mark that `take` assumes. */
  constructor(source: string, mark: DecimalMark, hints: NumberHints) {
    this.#source = source;
    this.#mark = mark;
    this.#hints = hints;
  }

  /** @returns the number with the given mark, NaN for a missing one. It is valid only if `mark()` returns the same mark. */
  take(text: string, line: number, name: string): number {
    if (PLAIN.test(text) && this.#mark === ".") {
      if (this.#point === undefined) this.#weigh(text, line, name);
      return finite(Number(text));
    }
    const bare = text.trim();
    return isMissing(bare) ? Number.NaN : this.#takeMarked(bare, line, name);
  }

  /** The file's decimal mark; a point if no cell has another. */
  mark(): DecimalMark {
    if (this.#point && this.#comma) {
      throw this.#fault(
        `the decimal mark changes: ${quoted(this.#point)}, then ${quoted(this.#comma)}`,
        this.#comma,
      );
    }
    if (this.#comma) return ",";
    if (this.#point) return ".";
    const grouped = this.#grouped.values().find(({ name }) => this.#short.has(name) && !this.#long.has(name));
    const either = this.#either ?? grouped;
    if (either === undefined) return ".";
    const message = `the ${this.#either ? "comma" : "point"} in ${quoted(either)} can separate thousands or decimals, and no cell in the file shows which`;
    throw this.#fault(`${message}; write numbers without thousands separators`, either);
  }

  /** Numbers of up to three digits beside those like 1.234, and none of four digits, may be whole. */
  #weigh(text: string, line: number, name: string): void {
    const met = { text, line, name };
    if (COMMA_THOUSANDS.test(text)) {
      if (!this.#grouped.has(name)) this.#grouped.set(name, met);
    } else if (text.includes(".")) this.#point = met;
    else (/^[+-]?\d{1,3}$/.test(text) ? this.#short : this.#long).add(name);
  }

  #takeMarked(text: string, line: number, name: string): number {
    const met = { text, line, name };
    const pointed = PLAIN.test(text) || POINT_THOUSANDS.test(text);
    const commaed = WHOLE.test(text) || COMMA.test(text) || COMMA_THOUSANDS.test(text);
    if (!pointed && !commaed) throw this.#fault(`${quoted(met)} is not a number${this.#hint(text)}`, met);
    if (!commaed) this.#point ??= met;
    else if (!pointed) this.#comma ??= met;
    else if (text.includes(",")) this.#either ??= met;
    const plain = this.#mark === "." ? text.replaceAll(",", "") : text.replaceAll(".", "").replace(",", ".");
    return finite(Number(plain));
  }

  #hint(text: string): string {
    if (CURRENCY_SIGN.test(text)) return this.#hints.currency;
    return /^\p{L}+$/u.test(text) ? this.#hints.letters : "";
  }

  #fault(message: string, met: Met): MucastError {
    return new MucastError("invalid_data", `${this.#source}: ${message}`, {
      source: this.#source,
      line: met.line,
    });
  }
}

function finite(value: number): number {
  return Number.isFinite(value) ? value : Number.NaN;
}

function quoted({ text, line, name }: Met): string {
  return `${show(text)} (line ${line}, ${show(name)})`;
}
