import { isRawNumber } from "../json/json-text.ts";
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
  readonly example: string;
  /** @returns undefined for a value in another notation; `count` 0 for a value that refers to no column. */
  readonly read: (raw: unknown) => ColumnNeed | undefined;
}

interface ColumnEntry {
  /** Two entries in JSON, for examples. */
  readonly samples: readonly [string, string];
  readonly isOne: (text: string) => boolean;
}

const NUMBER = /^-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const COLUMN = /^\d+$/;

export const WEIGHT: ColumnEntry = {
  samples: ["1", "0.5"],
  isOne: (text) => NUMBER.test(text) && Number.isFinite(Number(text)),
};

export const SIGN: ColumnEntry = {
  samples: ["1", "-1"],
  isOne: (text) => NUMBER.test(text) && [-1, 0, 1].includes(Number(text)),
};

export function integer(least: number, most: number): ColumnEntry {
  const isOne = (text: string) => COLUMN.test(text) && Number(text) >= least && Number(text) <= most;
  return { samples: ["15", "63"], isOne };
}

export function list(kind: "each" | "first", { samples, isOne }: ColumnEntry): ColumnForm {
  return {
    example: `[${samples}]`,
    read: (raw) => {
      if (!Array.isArray(raw) || !raw.every((entry) => isRawNumber(entry) && isOne(entry.rawJSON))) return;
      return { kind, count: raw.length };
    },
  };
}

/** A list of numbers in a string, between the two brackets. */
export function text(
  kind: "each" | "first",
  { samples, isOne }: ColumnEntry,
  brackets: readonly [string, string] = ["", ""],
): ColumnForm {
  return {
    example: `"${brackets.join(`${samples}`)}"`,
    read: (raw) => {
      const parts = partsOf(between(raw, ...brackets));
      return parts?.every(isOne) ? { kind, count: parts.length } : undefined;
    },
  };
}

/** A list of numbers written like a Python tuple, possibly with one value, `(1,)` or `1`; spaces around it are ignored. */
export function tuple(kind: "each" | "first", entry: ColumnEntry): ColumnForm {
  const { example, read } = text(kind, entry, ["(", ")"]);
  return {
    example,
    read: (raw) => {
      if (typeof raw !== "string") return;
      const trimmed = raw.trim();
      return read(COLUMN.test(trimmed) ? `(${trimmed})` : trimmed.replace(/,\s*\)$/, ")"));
    },
  };
}

/** An object from a column's number to its value; in a string, `0:1,2:0.5`. */
export function byNumber({ samples, isOne }: ColumnEntry): ColumnForm[] {
  return [
    {
      example: `{"0":${samples[0]},"2":${samples[1]}}`,
      read: (raw) => {
        if (jsonType(raw) !== "object") return;
        const entries = Object.entries(raw as object);
        const areOnes = entries.every(([, value]) => isRawNumber(value) && isOne(value.rawJSON));
        return areOnes ? named(entries.map(([column]) => column)) : undefined;
      },
    },
    {
      example: `"0:${samples[0]},2:${samples[1]}"`,
      read: (raw) => {
        const pairs = typeof raw === "string" ? raw.split(",").map((pair) => pair.split(":")) : undefined;
        const areOnes = pairs?.every((pair) => pair.length === 2 && isOne(pair[1]!));
        return areOnes ? named(pairs!.map(([column]) => column!)) : undefined;
      },
    },
  ];
}

export const COLUMN_NUMBER: ColumnForm = { example: "2", read: (raw) => named([digitsOf(raw)]) };

export const COLUMN_NUMBERS: ColumnForm = {
  example: "[0,2]",
  read: (raw) => (Array.isArray(raw) ? named(raw.map(digitsOf)) : undefined),
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
    const isRange = ([from, to = from, more]: string[]) => more === undefined && Number(from) <= Number(to);
    return parts.every(isRange) ? named(parts.flat()) : undefined;
  },
};

export const GROUPS: ColumnForm = {
  example: "[[0,1],[2]]",
  read: (raw) => {
    if (!Array.isArray(raw) || !raw.every((group) => Array.isArray(group))) return;
    return named(raw.flat().map(digitsOf));
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
      const body = isNested ? groups : bare ? raw : undefined;
      if (body === undefined || !/^(?:\s*\[[\d,\s]*\]\s*(?:,(?=\s*\[)|$))*$/.test(body)) return;
      return named([...body.matchAll(/\[([^\]]*)\]/g)].flatMap(([, group]) => partsOf(group!.trim())!));
    },
  };
}

/** Options of a column, such as `"0:border_count=32"`; one such string or a list of them. */
export const OPTIONS_BY_NUMBER: ColumnForm = {
  example: '["0:border_count=32"]',
  read: (raw) => {
    const entries: unknown[] = Array.isArray(raw) ? raw : [raw];
    return named(
      entries.map(
        (entry) => /^(\d+):\w+=\w+(?:,\w+=\w+)*$/.exec(typeof entry === "string" ? entry : "")?.[1],
      ),
    );
  },
};

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
  const isBetween = raw.startsWith(open) && raw.endsWith(close);
  return isBetween ? raw.slice(open.length, raw.length - close.length) : undefined;
}

function partsOf(inner: string | undefined): string[] | undefined {
  return inner === "" ? [] : inner?.split(",").map((part) => part.trim());
}

function digitsOf(raw: unknown): string {
  return isRawNumber(raw) ? raw.rawJSON : "";
}

function named(columns: readonly (string | undefined)[]): ColumnNeed | undefined {
  if (!columns.every((column) => column !== undefined && COLUMN.test(column))) return undefined;
  return { kind: "named", count: columns.reduce((most, column) => Math.max(most, Number(column) + 1), 0) };
}
