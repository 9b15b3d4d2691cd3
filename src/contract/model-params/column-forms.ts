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

/** A value with one entry a column. */
function entries(
  kind: "each" | "first",
  { isOne }: Pick<ColumnEntry, "isOne">,
  example: string,
  textsIn: (raw: unknown) => readonly string[] | undefined,
): ColumnForm {
  const read = (raw: unknown) => {
    const texts = textsIn(raw);
    return texts?.every(isOne) ? { kind, count: texts.length } : undefined;
  };
  return { example, read };
}

export function list(kind: "each" | "first", entry: ColumnEntry): ColumnForm {
  return entries(kind, entry, `[${entry.samples}]`, (raw) =>
    Array.isArray(raw) ? raw.map(digitsOf) : undefined,
  );
}

/** A list of numbers in a string, between the two brackets. */
export function text(
  kind: "each" | "first",
  entry: ColumnEntry,
  brackets: readonly [string, string] = ["", ""],
): ColumnForm {
  return entries(kind, entry, `"${brackets.join(`${entry.samples}`)}"`, (raw) =>
    partsOf(between(raw, ...brackets)),
  );
}

/** A list of numbers written like a Python tuple, possibly with one value, `(1,)` or `1`; spaces around it are ignored. */
export function tuple(kind: "each" | "first", entry: ColumnEntry): ColumnForm {
  return entries(kind, entry, `"(${entry.samples})"`, (raw) => {
    const trimmed = typeof raw === "string" ? raw.trim() : "";
    return COLUMN.test(trimmed) ? [trimmed] : partsOf(between(trimmed.replace(/,\s*\)$/, ")"), "(", ")"));
  });
}

/** A list with one of these words for each column. */
export function stringList(...known: readonly string[]): ColumnForm {
  return entries("each", { isOne: (word) => known.includes(word) }, `["${known[0]}","${known[1]}"]`, (raw) =>
    Array.isArray(raw) && raw.length > 0 ? raw : undefined,
  );
}

/** A value that names columns by their numbers. */
function numbers(example: string, columnsIn: (raw: unknown) => readonly string[] | undefined): ColumnForm {
  const read = (raw: unknown): ColumnNeed | undefined => {
    const columns = columnsIn(raw);
    if (!columns?.every((column) => COLUMN.test(column))) return undefined;
    return { kind: "named", count: Math.max(0, ...columns.map((column) => Number(column) + 1)) };
  };
  return { example, read };
}

/** An object from a column's number to its value; in a string, `0:1,2:0.5`. */
export function byNumber({ samples: [one, other], isOne }: ColumnEntry): ColumnForm[] {
  const columnsOf = (pairs: readonly (readonly string[])[]) =>
    pairs.map((pair) => (pair.length === 2 && isOne(pair[1]!) ? pair[0]! : ""));
  return [
    numbers(`{"0":${one},"2":${other}}`, (raw) =>
      jsonType(raw) === "object"
        ? columnsOf(Object.entries(raw as object).map(([column, value]) => [column, digitsOf(value)]))
        : undefined,
    ),
    numbers(`"0:${one},2:${other}"`, (raw) =>
      typeof raw === "string" ? columnsOf(raw.split(",").map((pair) => pair.split(":"))) : undefined,
    ),
  ];
}

export const COLUMN_NUMBER = numbers("2", (raw) => [digitsOf(raw)]);

export const COLUMN_NUMBERS = numbers("[0,2]", (raw) => (Array.isArray(raw) ? raw.map(digitsOf) : undefined));

export const COLUMN_NUMBERS_TEXT = numbers('"0,2"', (raw) =>
  raw === "" ? [] : typeof raw === "string" ? raw.split(",") : undefined,
);

/** A list of columns and of ranges, each with its last column included. */
export const COLUMN_RANGES = numbers('[0,"2-4"]', (raw) => {
  const parts = Array.isArray(raw) ? raw : [""];
  return parts.flatMap((entry) => {
    const [from, to = from, more] = typeof entry === "string" ? entry.split("-") : [digitsOf(entry)];
    return more === undefined && Number(from) <= Number(to) ? [from!, to!] : [""];
  });
});

export const GROUPS = numbers("[[0,1],[2]]", (raw) =>
  Array.isArray(raw) && raw.every(Array.isArray) ? raw.flat().map(digitsOf) : undefined,
);

/** Lists of columns in a string; with `bare`, the brackets around all of them may be missing. */
export function groupsText(bare: boolean): ColumnForm {
  return numbers(bare ? '"[0,1],[2]"' : '"[[0,1],[2]]"', (raw) => {
    if (raw === "") return [];
    const groups = between(typeof raw === "string" ? raw.trim() : raw, "[", "]");
    const isNested = groups !== undefined && (groups === "" || /^\s*\[.*\]\s*$/s.test(groups));
    const body = isNested ? groups : bare && typeof raw === "string" ? raw : undefined;
    if (body === undefined || !/^(?:\s*\[[\d,\s]*\]\s*(?:,(?=\s*\[)|$))*$/.test(body)) return undefined;
    return [...body.matchAll(/\[([^\]]*)\]/g)].flatMap(([, group]) => partsOf(group!.trim())!);
  });
}

/** Options of a column, such as `"0:border_count=32"`; one such string or a list of them. */
export const OPTIONS_BY_NUMBER = numbers('["0:border_count=32"]', (raw) => {
  const options: unknown[] = Array.isArray(raw) ? raw : [raw];
  return options.map((option) =>
    typeof option === "string" ? (/^(\d+):\w+=\w+(?:,\w+=\w+)*$/.exec(option)?.[1] ?? "") : "",
  );
});

function between(raw: unknown, open: string, close: string): string | undefined {
  if (typeof raw !== "string" || raw.length < open.length + close.length) return undefined;
  const isBetween = raw.startsWith(open) && raw.endsWith(close);
  return isBetween ? raw.slice(open.length, raw.length - close.length) : undefined;
}

function partsOf(inner: string | undefined): string[] | undefined {
  return inner === "" ? [] : inner?.split(",").map((part) => part.trim());
}

/** The text of a number; empty for any other value. */
function digitsOf(raw: unknown): string {
  return isRawNumber(raw) ? raw.rawJSON : "";
}
