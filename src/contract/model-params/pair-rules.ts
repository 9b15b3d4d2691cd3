import type { Fault } from "../errors/errors.ts";
import { show } from "../errors/faults.ts";
import { isRawNumber } from "../json/json-text.ts";
import type { Library } from "./models.ts";

/** Two parameters of a library whose values are valid one by one, but together crash its process or fail a fit. */
interface PairRule {
  readonly library: Library;
  /** The parameter whose path the fault reports, and the other one, by the constructor's own names. */
  readonly pair: readonly [string, string];
  /** What to do; undefined if the values are compatible. Absent arguments are undefined. */
  readonly fault: (given: ReadonlyMap<string, unknown>, otherPath: string) => string | undefined;
}

const PAIR_RULES: readonly PairRule[] = [
  {
    // lightgbm throws in a thread that catches nothing: SIGABRT.
    library: "lightgbm",
    pair: ["monotone_constraints", "categorical_feature"],
    fault: (given, otherPath) => {
      const signs = numbersIn(given.get("monotone_constraints"));
      const both = [...new Set(numbersIn(given.get("categorical_feature")))].filter(
        (column) => (signs[column] ?? 0) !== 0,
      );
      if (both.length === 0) return undefined;
      const columns = both.length === 1 ? `column ${both[0]}` : `columns ${both.join(", ")}`;
      return `constrains ${columns}, which ${otherPath} names: categories have no order; give 0 there, or leave it out of the categories`;
    },
  },
  {
    // lightgbm creates no constraints for an empty list, and its advanced method reads them for every split by categories: SIGSEGV.
    library: "lightgbm",
    pair: ["monotone_constraints_method", "categorical_feature"],
    fault: (given, otherPath) => {
      const isAlone = numbersIn(given.get("monotone_constraints")).length === 0;
      const isAdvanced = given.get("monotone_constraints_method") === "advanced";
      if (!isAlone || !isAdvanced || numbersIn(given.get("categorical_feature")).length === 0)
        return undefined;
      return `"advanced" needs monotone_constraints beside ${otherPath}, one value a column; without constraints, leave the method out`;
    },
  },
];

/** Faults of incompatible values. @param params arguments by the constructor's own names. @param pathOf the path of each. */
export function pairFaults(
  library: Library,
  params: ReadonlyMap<string, unknown>,
  pathOf: (own: string) => string,
): Fault[] {
  return PAIR_RULES.filter((rule) => rule.library === library).flatMap(({ pair: [own, other], fault }) => {
    const message = fault(params, pathOf(other));
    return message === undefined
      ? []
      : [{ path: pathOf(own), message: `${message}; got ${show(params.get(own))}` }];
  });
}

/** The numbers of a list, of a list in a string, or one number; value-rules.ts refuses other notations. */
function numbersIn(raw: unknown): number[] {
  if (isRawNumber(raw)) return [Number(raw.rawJSON)];
  if (Array.isArray(raw)) return raw.flatMap(numbersIn);
  return typeof raw === "string" && raw !== "" ? raw.split(",").map(Number) : [];
}
