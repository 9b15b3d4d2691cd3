import { show } from "../errors/faults.ts";
import { isRawNumber } from "../json/json-text.ts";
import { MAX_COLUMNS } from "../market/ticker-series.ts";
import { jsonType } from "./catalogue.ts";

/**
 * A value's demand on the columns of a fit:
 * - each: exactly `count` columns, because the value has one entry for each.
 * - first: at least `count` columns, because the value has one entry for each of the first.
 * - named: at least `count` columns, because the value names column `count - 1`.
 */
export interface ColumnNeed {
  readonly kind: "each" | "first" | "named";
  readonly count: number;
}

/** A notation for a value that refers to columns. */
export interface ColumnForm {
  /** An example in JSON. */
  readonly example: string;
  /** @returns undefined for a value in another notation; `count` 0 for a value that refers to no column. */
  readonly read: (raw: unknown) => ColumnNeed | undefined;
}

/** The entry of one column. */
interface ColumnEntry {
  readonly inWords: string;
  /** Two entries in JSON, for examples. */
  readonly samples: readonly [string, string];
  readonly isOne: (text: string) => boolean;
}

const NUMBER = /^-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const COLUMN = /^\d+$/;

const isNumber = (text: string) => NUMBER.test(text) && Number.isFinite(Number(text));

export const SIGN: ColumnEntry = {
  inWords: "-1, 0 or 1",
  samples: ["1", "-1"],
  isOne: (text) => isNumber(text) && [-1, 0, 1].includes(Number(text)),
};

export const WEIGHT: ColumnEntry = { inWords: "a number", samples: ["1", "0.5"], isOne: isNumber };

/** A whole number from `least` to `most`. */
export function integer(least: number, most: number): ColumnEntry {
  const isOne = (text: string) => COLUMN.test(text) && Number(text) >= least && Number(text) <= most;
  return { inWords: `a whole number from ${least} to ${most}`, samples: ["15", "63"], isOne };
}

export function list(kind: "each" | "first", { samples, isOne }: ColumnEntry): ColumnForm {
  return {
    example: `[${samples.join(",")}]`,
    read: (raw) => {
      if (!Array.isArray(raw) || !raw.every((entry) => isRawNumber(entry) && isOne(entry.rawJSON))) return;
      return { kind, count: raw.length };
    },
  };
}

/** A list of numbers in a string, between `open` and `close`. */
export function text(
  kind: "each" | "first",
  { samples, isOne }: ColumnEntry,
  [open, close]: readonly [string, string],
): ColumnForm {
  return {
    example: `"${open}${samples.join(",")}${close}"`,
    read: (raw) => {
      const inner = between(raw, open, close);
      if (inner === undefined) return;
      const parts = inner === "" ? [] : inner.split(",").map((part) => part.trim());
      return parts.every(isOne) ? { kind, count: parts.length } : undefined;
    },
  };
}

/** A list of numbers written like a Python tuple, possibly with one value, `(1,)` or `1`; spaces around it are ignored. */
export function tuple(kind: "each" | "first", entry: ColumnEntry): ColumnForm {
  const inBrackets = text(kind, entry, ["(", ")"]);
  return {
    ...inBrackets,
    read: (raw) => {
      if (typeof raw !== "string") return;
      const trimmed = raw.trim();
      return inBrackets.read(COLUMN.test(trimmed) ? `(${trimmed})` : trimmed.replace(/,\s*\)$/, ")"));
    },
  };
}

/** An object from a column's number to its value. */
export function byNumber({ samples, isOne }: ColumnEntry): ColumnForm {
  return {
    example: `{"0":${samples[0]},"2":${samples[1]}}`,
    read: (raw) => {
      if (jsonType(raw) !== "object") return;
      const entries = Object.entries(raw as object);
      if (!entries.every(([, value]) => isRawNumber(value) && isOne(value.rawJSON))) return;
      return named(entries.map(([column]) => column));
    },
  };
}

/** A column's number and its value, in a string. */
export function textByNumber({ samples, isOne }: ColumnEntry): ColumnForm {
  return {
    example: `"0:${samples[0]},2:${samples[1]}"`,
    read: (raw) => {
      if (typeof raw !== "string") return;
      const pairs = raw.split(",").map((pair) => pair.split(":"));
      if (!pairs.every((pair) => pair.length === 2 && isOne(pair[1]!))) return;
      return named(pairs.map(([column]) => column!));
    },
  };
}

export const COLUMN_NUMBER: ColumnForm = { example: "2", read: (raw) => namedIn([raw]) };

export const COLUMN_NUMBERS: ColumnForm = {
  example: "[0,2]",
  read: (raw) => (Array.isArray(raw) ? namedIn(raw) : undefined),
};

export const COLUMN_NUMBERS_TEXT: ColumnForm = {
  example: '"0,2"',
  read: (raw) => (typeof raw === "string" ? named(raw === "" ? [] : raw.split(",")) : undefined),
};

/** A list of columns and of ranges, each with its last column included. */
export const COLUMN_RANGES: ColumnForm = {
  example: '[0,"2-4"]',
  read: (raw) => {
    if (!Array.isArray(raw)) return;
    const parts = raw.map((entry) => (typeof entry === "string" ? entry.split("-") : [digitsOf(entry)]));
    const isRising = (part: readonly string[]) => part.length === 1 || Number(part[0]) <= Number(part[1]);
    return parts.every((part) => part.length <= 2 && isRising(part)) ? named(parts.flat()) : undefined;
  },
};

export const GROUPS: ColumnForm = {
  example: "[[0,1],[2]]",
  read: (raw) => {
    if (!Array.isArray(raw) || !raw.every((group) => Array.isArray(group))) return;
    return namedIn(raw.flat());
  },
};

/** Lists of columns in a string; with `bare`, the brackets around all of them may be missing. */
export function groupsText(bare: boolean): ColumnForm {
  return {
    example: bare ? '"[0,1],[2]"' : '"[[0,1],[2]]"',
    read: (raw) => {
      if (raw === "") return named([]);
      if (typeof raw !== "string") return;
      const groups = between(raw.trim(), "[", "]");
      const isNested = groups !== undefined && (groups === "" || /^\s*\[.*\]\s*$/s.test(groups));
      if (!isNested && !bare) return;
      const body = isNested ? groups : raw;
      if (!/^(?:\s*\[[\d,\s]*\]\s*(?:,(?=\s*\[)|$))*$/.test(body)) return;
      const parts = [...body.matchAll(/\[([^\]]*)\]/g)].map(([, group]) => group!.trim());
      return named(parts.flatMap((group) => (group === "" ? [] : group.split(",").map((n) => n.trim()))));
    },
  };
}

/** Options of a column, such as `"0:border_count=32"`; one such string or a list of them. */
export const OPTIONS_BY_NUMBER: ColumnForm = {
  example: '["0:border_count=32"]',
  read: (raw) => {
    const entries: unknown[] = Array.isArray(raw) ? raw : [raw];
    const found = entries.map((entry) =>
      typeof entry === "string" ? /^(\d+):\w+=\w+(?:,\w+=\w+)*$/.exec(entry) : null,
    );
    return found.every((match) => match !== null) ? named(found.map((match) => match[1]!)) : undefined;
  },
};

/** A list with one of these words for each column. */
export function stringList(...known: readonly string[]): ColumnForm {
  return {
    example: `["${known[0]}","${known[1]}"]`,
    read: (raw) => {
      if (!Array.isArray(raw) || raw.length === 0 || !raw.every((entry) => known.includes(entry))) return;
      return { kind: "each", count: raw.length };
    },
  };
}

function between(raw: unknown, open: string, close: string): string | undefined {
  if (typeof raw !== "string" || raw.length < open.length + close.length) return undefined;
  return raw.startsWith(open) && raw.endsWith(close)
    ? raw.slice(open.length, raw.length - close.length)
    : undefined;
}

function digitsOf(raw: unknown): string {
  return isRawNumber(raw) ? raw.rawJSON : "";
}

function namedIn(raw: readonly unknown[]): ColumnNeed | undefined {
  return named(raw.map(digitsOf));
}

function named(columns: readonly string[]): ColumnNeed | undefined {
  if (!columns.every((column) => COLUMN.test(column))) return undefined;
  return { kind: "named", count: columns.reduce((most, column) => Math.max(most, Number(column) + 1), 0) };
}

/** The fault of a requirement that no ticker can meet; undefined if some can. */
export function needFault({ kind, count }: ColumnNeed, raw: unknown): string | undefined {
  if (count <= MAX_COLUMNS) return undefined;
  const says = kind === "named" ? `names column ${count - 1}` : `holds ${count} values, one a column`;
  return `${says}, and a ticker has at most ${MAX_COLUMNS} columns, numbered from 0; got ${show(raw)}`;
}
