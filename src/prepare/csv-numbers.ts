import type { MucastError } from "../contract/errors/errors.ts";
import { show } from "../contract/errors/faults.ts";
import { lineFault } from "./csv-records.ts";

export type DecimalMark = "." | ",";

const MISSING = /^(?:|n\/?a|#n\/a(?: n\/a)?|nan|nat|null|none|nil|--?|\.|[+-]?inf(?:inity)?)$/i;
const PLAIN = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?$/i;
const POINT_THOUSANDS = /^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?$/;
const COMMA = /^[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d*(?:e[+-]?\d{1,3})?$/i;
const WHOLE = /^[+-]?\d+(?:e[+-]?\d{1,3})?$/i;
const COMMA_THOUSANDS = /^[+-]?[1-9]\d{0,2}(?:\.\d{3})+$/;

export function isMissing(text: string): boolean {
  return MISSING.test(text);
}

interface Cell {
  readonly text: string;
  readonly line: number;
  /** The ticker of a price, or the column of a feature. */
  readonly name: string;
}

/**
 * Numbers with a decimal point or a decimal comma, with or without thousands separators. `1,234` by itself can be either, and so can
 * `1.234` beside `999`, so all cells of a file together decide its decimal mark.
 */
export class NumberColumns {
  readonly #source: string;
  readonly #mark: DecimalMark;
  #point: Cell | undefined;
  #comma: Cell | undefined;
  #either: Cell | undefined;
  /** By name, the first number like 1.234; the names with whole numbers of up to three digits, and of more. */
  readonly #grouped = new Map<string, Cell>();
  readonly #short = new Set<string>();
  readonly #long = new Set<string>();

  /** @param mark the decimal mark that `take` assumes. */
  constructor(source: string, mark: DecimalMark) {
    this.#source = source;
    this.#mark = mark;
  }

  /** @returns the number with the given mark, NaN for a missing one. It is valid only if `mark()` returns the same mark. */
  take(text: string, line: number, name: string): number {
    const bare = text.trim();
    if (this.#mark === "." && PLAIN.test(bare)) {
      if (this.#point === undefined) this.#weigh({ text: bare, line, name });
      return finite(Number(bare));
    }
    return MISSING.test(bare) ? Number.NaN : this.#takeMarked({ text: bare, line, name });
  }

  /** The file's decimal mark; a point if no cell has another. */
  mark(): DecimalMark {
    if (this.#point && this.#comma)
      throw this.#fault(
        `the decimal mark changes: ${quote(this.#point)}, then ${quote(this.#comma)}`,
        this.#comma,
      );
    if (this.#comma) return ",";
    if (this.#point) return ".";
    const grouped = this.#grouped.values().find(({ name }) => this.#short.has(name) && !this.#long.has(name));
    const either = this.#either ?? grouped;
    if (either === undefined) return ".";
    const message = `the ${this.#either ? "comma" : "point"} in ${quote(either)} can separate thousands or decimals, and no cell in the file shows which`;
    throw this.#fault(`${message}; write numbers without thousands separators`, either);
  }

  /** Numbers of up to three digits beside those like 1.234, and none of four digits, may be whole. */
  #weigh(cell: Cell): void {
    const { text, name } = cell;
    if (COMMA_THOUSANDS.test(text)) {
      if (!this.#grouped.has(name)) this.#grouped.set(name, cell);
    } else if (text.includes(".")) this.#point = cell;
    else (/^[+-]?\d{1,3}$/.test(text) ? this.#short : this.#long).add(name);
  }

  #takeMarked(cell: Cell): number {
    const { text } = cell;
    const isPointed = PLAIN.test(text) || POINT_THOUSANDS.test(text);
    const isCommaed = WHOLE.test(text) || COMMA.test(text) || COMMA_THOUSANDS.test(text);
    if (!isPointed && !isCommaed) throw this.#fault(`${quote(cell)} is not a number${hint(text)}`, cell);
    if (!isCommaed) this.#point ??= cell;
    else if (!isPointed) this.#comma ??= cell;
    else if (text.includes(",")) this.#either ??= cell;
    const plain = this.#mark === "." ? text.replaceAll(",", "") : text.replaceAll(".", "").replace(",", ".");
    return finite(Number(plain));
  }

  #fault(message: string, { line }: Cell): MucastError {
    return lineFault(this.#source, line, message);
  }
}

function hint(text: string): string {
  if (/\p{Sc}/u.test(text)) return "; write numbers without a currency sign";
  return /^\p{L}+$/u.test(text) ? "; leave out columns that are neither prices nor features" : "";
}

function finite(value: number): number {
  return Number.isFinite(value) ? value : Number.NaN;
}

function quote({ text, line, name }: Cell): string {
  return `${show(text)} (line ${line}, ${show(name)})`;
}
