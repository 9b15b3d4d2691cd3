import type { Fault } from "../errors/errors.ts";
import { show } from "../errors/faults.ts";
import { type ColumnNeed, needFault } from "./column-forms.ts";
import type { Library } from "./models.ts";
import { valueRule } from "./value-rules.ts";

/** An argument's requirement on the columns of every fit. */
export interface ColumnDemand extends ColumnNeed {
  /** The argument's path in the config. */
  readonly path: string;
  /** The argument's value, shortened. */
  readonly value: string;
}

/**
 * The arguments' requirements on the columns of a fit, and the faults that no set of columns could meet.
 * @param params arguments by the constructor's own names, as a `rawNumbers` tree.
 * @param pathOf the path of each.
 */
export function columnDemands(
  library: Library,
  params: ReadonlyMap<string, unknown>,
  pathOf: (own: string) => string,
): { demands: readonly ColumnDemand[]; faults: readonly Fault[] } {
  const demands: ColumnDemand[] = [];
  const faults: Fault[] = [];
  for (const [own, raw] of params) {
    const rule = valueRule(library, own);
    if (raw === null || rule?.kind !== "columns") continue;
    const path = pathOf(own);
    const need = rule.forms.map(({ read }) => read(raw)).find((found) => found !== undefined);
    if (need === undefined) {
      const examples = rule.forms.map(({ example }) => example).join(" or ");
      faults.push({ path, message: `takes ${rule.inWords}, such as ${examples}; got ${show(raw)}` });
      continue;
    }
    const message = needFault(need, raw);
    if (message !== undefined) faults.push({ path, message });
    else if (need.count > 0) demands.push({ ...need, path, value: show(raw) });
  }
  return { demands, faults: faults.length > 0 ? faults : contradictions(demands) };
}

/** The faults of requirements that no number of columns meets together. */
function contradictions(demands: readonly ColumnDemand[]): Fault[] {
  const each = demands.find(({ kind }) => kind === "each");
  if (each === undefined) return [];
  return demands
    .filter((demand) => !isMet(demand, each.count))
    .map((demand) => ({
      path: demand.path,
      message: `${says(demand)}, but ${each.path} holds ${each.count}`,
    }));
}

function isMet({ kind, count }: ColumnNeed, columns: number): boolean {
  return kind === "each" ? count === columns : count <= columns;
}

function says({ kind, count, value }: ColumnDemand): string {
  if (kind === "named") return `${value} names column ${count - 1}`;
  return `${value} holds ${count} values, one a column`;
}

const NAMES_SHOWN = 10;

/**
 * The faults of the arguments for a fit with these columns.
 * @param columns the names of the columns of the ticker's matrix, in its order.
 * @returns one sentence for each requirement that is not met.
 */
export function unmetDemands(demands: readonly ColumnDemand[], columns: readonly string[]): string[] {
  return demands
    .filter((demand) => !isMet(demand, columns.length))
    .map((demand) => `${demand.path}: ${says(demand)}, but the ticker has ${inWords(columns)}`);
}

function inWords(columns: readonly string[]): string {
  const names = columns.slice(0, NAMES_SHOWN).map((name, number) => `${number} ${show(name)}`);
  const more = columns.length - names.length;
  return `${columns.length} columns: ${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

const USUAL_COLUMNS = 8;

/** The number of columns of a trial fit: they meet all requirements, and one column remains if arguments ignore all others. */
export function trialColumns(demands: readonly ColumnDemand[]): number {
  const each = demands.find(({ kind }) => kind === "each");
  return each?.count ?? Math.max(USUAL_COLUMNS, ...demands.map(({ count }) => count + 1));
}
