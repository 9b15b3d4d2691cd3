import { type Fault, fault } from "../errors/errors.ts";
import { show } from "../errors/faults.ts";
import { isRawNumber } from "../json/json-text.ts";
import { MAX_COLUMNS } from "../market/ticker-series.ts";
import { jsonType } from "./catalogue.ts";
import type { Library } from "./models.ts";

/**
 * What a value needs of the columns of a fit:
 * - each: exactly `count` columns, because the value has one entry for each.
 * - first: at least `count` columns, because the value has one entry for each of the first.
 * - named: at least `count` columns, because the value names column `count - 1`.
 */
interface ColumnNeed {
  readonly kind: "each" | "first" | "named";
  readonly count: number;
}

/** A notation for a value that refers to columns. */
interface ColumnForm {
  readonly example: string;
  /** @returns undefined for a value in another notation; `count` 0 for a value that refers to no column. */
  readonly read: (raw: unknown) => ColumnNeed | undefined;
}

type Texts = readonly string[] | undefined;

const COLUMN = /^\d+$/;
const isColumn = (text: string) => COLUMN.test(text);

/** @param textsIn the entries of a value, or the columns that it names; undefined for a value in another notation. */
function form(
  example: string,
  kind: ColumnNeed["kind"],
  textsIn: (raw: unknown) => Texts,
  isOne = isColumn,
): ColumnForm {
  const read = (raw: unknown) => {
    const texts = textsIn(raw);
    if (!texts?.every(isOne)) return undefined;
    const count = kind === "named" ? Math.max(0, ...texts.map((text) => Number(text) + 1)) : texts.length;
    return { kind, count };
  };
  return { example, read };
}

interface ColumnEntry {
  /** Two entries in JSON, for examples. */
  readonly samples: readonly [string, string];
  readonly isOne: (text: string) => boolean;
}

const NUMBER = /^-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

const WEIGHT: ColumnEntry = {
  samples: ["1", "0.5"],
  isOne: (text) => NUMBER.test(text) && Number.isFinite(Number(text)),
};

const SIGN: ColumnEntry = {
  samples: ["1", "-1"],
  isOne: (text) => NUMBER.test(text) && [-1, 0, 1].includes(Number(text)),
};

function integer(least: number, most: number): ColumnEntry {
  const isOne = (text: string) => isColumn(text) && Number(text) >= least && Number(text) <= most;
  return { samples: ["15", "63"], isOne };
}

/** The text of a number; empty for any other value. */
function digitsOf(raw: unknown): string {
  return isRawNumber(raw) ? raw.rawJSON : "";
}

function digitsIn(raw: unknown): Texts {
  return Array.isArray(raw) ? raw.map(digitsOf) : undefined;
}

function between(raw: unknown, open: string, close: string): string | undefined {
  if (typeof raw !== "string" || raw.length < open.length + close.length) return undefined;
  const isBetween = raw.startsWith(open) && raw.endsWith(close);
  return isBetween ? raw.slice(open.length, raw.length - close.length) : undefined;
}

function partsOf(inner: string | undefined): Texts {
  return inner === "" ? [] : inner?.split(",").map((part) => part.trim());
}

function list(kind: "each" | "first", { samples, isOne }: ColumnEntry): ColumnForm {
  return form(`[${samples}]`, kind, digitsIn, isOne);
}

/** A list of numbers in a string, between the two brackets. */
function text(
  kind: "each" | "first",
  { samples, isOne }: ColumnEntry,
  [open, close]: readonly [string, string] = ["", ""],
): ColumnForm {
  return form(`"${open}${samples}${close}"`, kind, (raw) => partsOf(between(raw, open, close)), isOne);
}

/** A list of numbers written like a Python tuple, possibly with one value, `(1,)` or `1`; spaces around it are ignored. */
function tuple(kind: "each" | "first", { samples, isOne }: ColumnEntry): ColumnForm {
  const textsIn = (raw: unknown) => {
    const trimmed = typeof raw === "string" ? raw.trim() : "";
    return isColumn(trimmed) ? [trimmed] : partsOf(between(trimmed.replace(/,\s*\)$/, ")"), "(", ")"));
  };
  return form(`"(${samples})"`, kind, textsIn, isOne);
}

/** A list with one of these words for each column. */
function words(...known: readonly string[]): ColumnForm {
  const textsIn = (raw: unknown) => (Array.isArray(raw) && raw.length > 0 ? raw : undefined);
  return form(`["${known[0]}","${known[1]}"]`, "each", textsIn, (word) => known.includes(word));
}

/** An object from a column's number to its value; in a string, `0:1,2:0.5`. */
function byNumber({ samples: [one, other], isOne }: ColumnEntry): ColumnForm[] {
  const columnsOf = (pairs: readonly (readonly string[])[]) =>
    pairs.map(([column, value = "", more]) => (more === undefined && isOne(value) ? column! : ""));
  return [
    form(`{"0":${one},"2":${other}}`, "named", (raw) =>
      jsonType(raw) === "object"
        ? columnsOf(Object.entries(raw as object).map(([column, value]) => [column, digitsOf(value)]))
        : undefined,
    ),
    form(`"0:${one},2:${other}"`, "named", (raw) =>
      typeof raw === "string" ? columnsOf(raw.split(",").map((pair) => pair.split(":"))) : undefined,
    ),
  ];
}

const COLUMN_NUMBER = form("2", "named", (raw) => [digitsOf(raw)]);

const COLUMN_NUMBERS = [
  form("[0,2]", "named", digitsIn),
  form('"0,2"', "named", (raw) => (typeof raw === "string" ? (raw === "" ? [] : raw.split(",")) : undefined)),
  COLUMN_NUMBER,
];

/** A list of columns and of ranges, each with its last column included. */
const COLUMN_RANGES = form('[0,"2-4"]', "named", (raw) =>
  (Array.isArray(raw) ? raw : [""]).flatMap((entry) => {
    const [from, to = from, more] = typeof entry === "string" ? entry.split("-") : [digitsOf(entry)];
    return more === undefined && Number(from) <= Number(to) ? [from!, to!] : [""];
  }),
);

const GROUPS = form("[[0,1],[2]]", "named", (raw) =>
  Array.isArray(raw) && raw.every(Array.isArray) ? raw.flat().map(digitsOf) : undefined,
);

/** Lists of columns in a string; with `bare`, the brackets around all of them may be missing. */
function groupsText(bare: boolean): ColumnForm {
  return form(bare ? '"[0,1],[2]"' : '"[[0,1],[2]]"', "named", (raw) => {
    if (raw === "") return [];
    const groups = between(typeof raw === "string" ? raw.trim() : raw, "[", "]");
    const isNested = groups !== undefined && (groups === "" || /^\s*\[.*\]\s*$/s.test(groups));
    const body = isNested ? groups : bare && typeof raw === "string" ? raw : undefined;
    if (body === undefined || !/^(?:\s*\[[\d,\s]*\]\s*(?:,(?=\s*\[)|$))*$/.test(body)) return undefined;
    return [...body.matchAll(/\[([^\]]*)\]/g)].flatMap(([, group]) => partsOf(group!.trim())!);
  });
}

/** Options of a column, such as `"0:border_count=32"`; one such string or a list of them. */
const OPTIONS_BY_NUMBER = form('["0:border_count=32"]', "named", (raw) =>
  (Array.isArray(raw) ? raw : [raw]).map((option) =>
    typeof option === "string" ? (/^(\d+):\w+=\w+(?:,\w+=\w+)*$/.exec(option)?.[1] ?? "") : "",
  ),
);

/**
 * How mucast checks a parameter's value beyond its type:
 * - columns: the value refers to columns; it is compared with the columns of each fit.
 * - most: the value may not exceed a number; one written as a fraction may not exceed `mostFraction`, nor be below `least`, if given.
 */
type ValueRule =
  | { readonly kind: "columns"; readonly forms: readonly ColumnForm[]; readonly inWords: string }
  | { kind: "most"; most: number; mostFraction?: number; least?: number; reason: string };

export const MAX_ROUNDS = 100_000;
const MAX_BINS = 1_000_000;

function columns(inWords: string, ...forms: readonly ColumnForm[]): ValueRule {
  return { kind: "columns", forms, inWords };
}

function most(
  count: number,
  reason: string,
  others: { readonly mostFraction?: number; readonly least?: number } = {},
): ValueRule {
  return { kind: "most", most: count, reason, ...others };
}

const rounds = most(MAX_ROUNDS, "each takes time and memory");
const bins = most(MAX_BINS, "each takes memory");
const SIGNS = "-1, 0 or 1 a column";
const WEIGHTS = "a number a column";

const lightgbmWeights = columns(WEIGHTS, list("each", WEIGHT), text("each", WEIGHT));
const lightgbmBins = integer(2, MAX_BINS);

// catboost uses 0 for the columns after the last given one, and 1 for their weights.
const catboostColumns = (inWords: string, entry: typeof SIGN) =>
  columns(inWords, list("first", entry), text("first", entry, ["(", ")"]), ...byNumber(entry));

const RULES: Readonly<Record<Library, Readonly<Record<string, ValueRule>>>> = {
  sklearn: {
    n_estimators: rounds,
    max_iter: most(10_000_000, "each is a pass over the rows"),
    max_leaf_nodes: most(100_000, "each tree takes memory for all of them"),
    // A number of rows, or a share of the rows; scikit-learn accepts either beyond the rows.
    max_samples: most(10_000_000, "each tree draws as many rows", { mostFraction: 10 }),
    // scikit-learn requires one sign for every column.
    monotonic_cst: columns(SIGNS, list("each", SIGN)),
  },
  xgboost: {
    n_estimators: rounds,
    num_parallel_tree: most(1_000, "every round grows as many trees"),
    max_bin: bins,
    // xgboost uses 0 for the columns after the last given one.
    monotone_constraints: columns(SIGNS, tuple("first", SIGN)),
    interaction_constraints: columns("groups of column numbers", groupsText(false)),
    feature_weights: columns(WEIGHTS, list("each", WEIGHT)),
    feature_types: columns('"q", "float", "i", "int" or "c" a column', words("q", "float", "i", "int", "c")),
  },
  lightgbm: {
    n_estimators: rounds,
    max_bin: bins,
    // Gradients are stored in 8 bits, half of the bins for either sign; with more bins they overflow without an error.
    num_grad_quant_bins: most(254, "a gradient is kept in 8 bits"),
    monotone_constraints: columns(SIGNS, list("each", SIGN), text("each", SIGN)),
    // lightgbm writes outside its memory for a column that does not exist.
    interaction_constraints: columns("groups of column numbers", GROUPS, groupsText(true)),
    feature_contri: lightgbmWeights,
    cegb_penalty_feature_coupled: lightgbmWeights,
    cegb_penalty_feature_lazy: lightgbmWeights,
    max_bin_by_feature: columns(
      `a whole number from 2 to ${MAX_BINS} a column`,
      list("each", lightgbmBins),
      text("each", lightgbmBins),
    ),
    categorical_feature: columns("column numbers", ...COLUMN_NUMBERS),
  },
  catboost: {
    iterations: rounds,
    // Measured with 8,000 rows: 1.05 takes 0.2 s a tree and 140 MB, 1.01 1.2 s and 280 MB, 1.0001 6 GB; 1e18 overflows and takes 8 GB.
    fold_len_multiplier: most(1_000_000, "it has the parts of ordered boosting grow", { least: 1.05 }),
    leaf_estimation_iterations: most(1_000, "every tree takes as many passes over the rows"),
    // catboost crashes on a column number too large for its memory.
    monotone_constraints: catboostColumns(SIGNS, SIGN),
    feature_weights: catboostColumns(WEIGHTS, WEIGHT),
    first_feature_use_penalties: catboostColumns(WEIGHTS, WEIGHT),
    per_object_feature_penalties: catboostColumns(WEIGHTS, WEIGHT),
    // catboost lists every number of a range, up to 3 GB, before it looks at the columns.
    ignored_features: columns("column numbers", COLUMN_RANGES, COLUMN_NUMBER),
    per_float_feature_quantization: columns("options of columns", OPTIONS_BY_NUMBER),
  },
};

/** @returns undefined for a parameter that needs no rule: it accepts a float, a boolean, or a word of a list. */
export function valueRule(library: Library, parameter: string): ValueRule | undefined {
  return Object.hasOwn(RULES[library], parameter) ? RULES[library][parameter] : undefined;
}

export interface ColumnDemand extends ColumnNeed {
  readonly path: string;
  /** The argument's value, shortened. */
  readonly value: string;
}

/** What the argument needs, or its fault if it is in another notation or no ticker can have so many columns. */
export function columnDemand(
  { forms, inWords }: { readonly forms: readonly ColumnForm[]; readonly inWords: string },
  raw: unknown,
  path: string,
): ColumnDemand | Fault {
  const value = show(raw);
  const need = forms.map(({ read }) => read(raw)).find((found) => found !== undefined);
  if (need === undefined) {
    const examples = forms.map(({ example }) => example).join(" or ");
    return fault(path, `takes ${inWords}, such as ${examples}; got ${value}`);
  }
  if (need.count <= MAX_COLUMNS) return { ...need, path, value };
  return fault(
    path,
    `${says(need)}, and a ticker has at most ${MAX_COLUMNS} columns, numbered from 0; got ${value}`,
  );
}

/** The faults of arguments that no number of columns meets together. */
export function contradictions(demands: readonly ColumnDemand[]): Fault[] {
  const each = demands.find(({ kind }) => kind === "each");
  const unmet = each === undefined ? [] : demands.filter((demand) => !isMet(demand, each.count));
  return unmet.map((demand) =>
    fault(demand.path, `${demand.value} ${says(demand)}, but ${each!.path} holds ${each!.count}`),
  );
}

function isMet({ kind, count }: ColumnNeed, columns: number): boolean {
  return kind === "each" ? count === columns : count <= columns;
}

function says({ kind, count }: ColumnNeed): string {
  return kind === "named" ? `names column ${count - 1}` : `holds ${count} values, one a column`;
}

const NAMES_SHOWN = 10;

/**
 * One sentence for each demand that a fit with these columns does not meet.
 * @param columns the names of the columns of the ticker's matrix, in its order.
 */
export function unmetDemands(demands: readonly ColumnDemand[], columns: readonly string[]): string[] {
  const names = columns.slice(0, NAMES_SHOWN).map((name, number) => `${number} ${show(name)}`);
  const more = columns.length > NAMES_SHOWN ? ` and ${columns.length - NAMES_SHOWN} more` : "";
  const has = `the ticker has ${columns.length} columns: ${names.join(", ")}${more}`;
  return demands
    .filter((demand) => !isMet(demand, columns.length))
    .map((demand) => `${demand.path}: ${demand.value} ${says(demand)}, but ${has}`);
}

const USUAL_COLUMNS = 8;

/** The number of columns of a trial fit: they meet all demands, and one column remains if arguments ignore all others. */
export function trialColumns(demands: readonly ColumnDemand[]): number {
  const each = demands.find(({ kind }) => kind === "each");
  return each?.count ?? Math.max(USUAL_COLUMNS, ...demands.map(({ count }) => count + 1));
}
