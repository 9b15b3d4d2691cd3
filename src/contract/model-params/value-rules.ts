import {
  byNumber,
  COLUMN_NUMBER,
  COLUMN_NUMBERS,
  COLUMN_NUMBERS_TEXT,
  COLUMN_RANGES,
  type ColumnForm,
  GROUPS,
  groupsText,
  integer,
  list,
  OPTIONS_BY_NUMBER,
  SIGN,
  stringList,
  text,
  tuple,
  WEIGHT,
} from "./column-forms.ts";
import type { Library } from "./models.ts";

/**
 * How mucast checks a parameter's value beyond its type:
 * - columns: the value refers to columns; it is compared with the columns of each fit.
 * - most: the value may not exceed a number; one written as a fraction may not exceed `mostFraction`, nor be below `least`, if given.
 */
type ValueRule =
  | { readonly kind: "columns"; readonly forms: readonly ColumnForm[]; readonly inWords: string }
  | { kind: "most"; most: number; mostFraction?: number; least?: number; reason: string };

/** The number of trees, rounds or iterations of a model. */
export const MAX_ROUNDS = 100_000;
const MAX_BINS = 1_000_000;

function columns(inWords: string, ...forms: readonly ColumnForm[]): ValueRule {
  return { kind: "columns", forms, inWords };
}

function most(count: number, reason: string): ValueRule {
  return { kind: "most", most: count, reason };
}

export function wordsIn(text: string): string[] {
  return text.match(/\S+/g) ?? [];
}

const rounds = most(MAX_ROUNDS, "each takes time and memory");
const bins = most(MAX_BINS, "each takes memory");
const SIGNS = "-1, 0 or 1 a column";
const WEIGHTS = "a number a column";

const LIGHTGBM_WEIGHTS = columns(WEIGHTS, list("each", WEIGHT), text("each", WEIGHT));
const LIGHTGBM_BINS = integer(2, MAX_BINS);

// catboost uses 0 for the columns after the last given one, and 1 for their weights.
const catboostColumns = (inWords: string, entry: typeof SIGN) =>
  columns(inWords, list("first", entry), text("first", entry, ["(", ")"]), ...byNumber(entry));

const RULES: Readonly<Record<Library, Readonly<Record<string, ValueRule>>>> = {
  sklearn: {
    n_estimators: rounds,
    max_iter: most(10_000_000, "each is a pass over the rows"),
    max_leaf_nodes: most(100_000, "each tree takes memory for all of them"),
    // A number of rows, or a share of the rows; scikit-learn accepts either beyond the rows.
    max_samples: { kind: "most", most: 10_000_000, mostFraction: 10, reason: "each tree draws as many rows" },
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
    feature_types: columns(
      '"q", "float", "i", "int" or "c" a column',
      stringList("q", "float", "i", "int", "c"),
    ),
  },
  lightgbm: {
    n_estimators: rounds,
    max_bin: bins,
    // Gradients are stored in 8 bits, half of the bins for either sign; with more bins they overflow without an error.
    num_grad_quant_bins: most(254, "a gradient is kept in 8 bits"),
    monotone_constraints: columns(SIGNS, list("each", SIGN), text("each", SIGN)),
    // lightgbm writes outside its memory for a column that does not exist.
    interaction_constraints: columns("groups of column numbers", GROUPS, groupsText(true)),
    feature_contri: LIGHTGBM_WEIGHTS,
    cegb_penalty_feature_coupled: LIGHTGBM_WEIGHTS,
    cegb_penalty_feature_lazy: LIGHTGBM_WEIGHTS,
    max_bin_by_feature: columns(
      `a whole number from 2 to ${MAX_BINS} a column`,
      list("each", LIGHTGBM_BINS),
      text("each", LIGHTGBM_BINS),
    ),
    categorical_feature: columns("column numbers", COLUMN_NUMBERS, COLUMN_NUMBERS_TEXT, COLUMN_NUMBER),
  },
  catboost: {
    iterations: rounds,
    // Measured with 8,000 rows: 1.05 takes 0.2 s a tree and 140 MB, 1.01 1.2 s and 280 MB, 1.0001 6 GB; 1e18 overflows and takes 8 GB.
    fold_len_multiplier: {
      kind: "most",
      most: 1_000_000,
      least: 1.05,
      reason: "it has the parts of ordered boosting grow",
    },
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
  const rules = RULES[library];
  return Object.hasOwn(rules, parameter) ? rules[parameter] : undefined;
}

export function ruleNames(library: Library): string[] {
  return Object.keys(RULES[library]);
}
