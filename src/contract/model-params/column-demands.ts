import { type Fault, fault } from "../errors/errors.ts";
import { show } from "../errors/faults.ts";
import { MAX_COLUMNS } from "../market/ticker-series.ts";
import type { ColumnNeed } from "./column-forms.ts";
import type { Library } from "./models.ts";
import { valueRule } from "./value-rules.ts";

export interface ColumnDemand extends ColumnNeed {
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
    const [path, value] = [pathOf(own), show(raw)];
    const need = rule.forms.map(({ read }) => read(raw)).find((found) => found !== undefined);
    if (need === undefined) {
      const examples = rule.forms.map(({ example }) => example).join(" or ");
      faults.push(fault(path, `takes ${rule.inWords}, such as ${examples}; got ${value}`));
    } else if (need.count > MAX_COLUMNS) {
      const limit = `a ticker has at most ${MAX_COLUMNS} columns, numbered from 0`;
      faults.push(fault(path, `${says(need)}, and ${limit}; got ${value}`));
    } else if (need.count > 0) demands.push({ ...need, path, value });
  }
  // Requirements that no number of columns meets together.
  const each = demands.find(({ kind }) => kind === "each");
  const unmet = each === undefined ? [] : demands.filter((demand) => !isMet(demand, each.count));
  const contradictions = unmet.map((demand) =>
    fault(demand.path, `${demand.value} ${says(demand)}, but ${each!.path} holds ${each!.count}`),
  );
  return { demands, faults: faults.length > 0 ? faults : contradictions };
}

function isMet({ kind, count }: ColumnNeed, columns: number): boolean {
  return kind === "each" ? count === columns : count <= columns;
}

function says({ kind, count }: ColumnNeed): string {
  return kind === "named" ? `names column ${count - 1}` : `holds ${count} values, one a column`;
}

const NAMES_SHOWN = 10;

/**
 * The faults of the arguments for a fit with these columns.
 * @param columns the names of the columns of the ticker's matrix, in its order.
 * @returns one sentence for each requirement that is not met.
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

/** The number of columns of a trial fit: they meet all requirements, and one column remains if arguments ignore all others. */
export function trialColumns(demands: readonly ColumnDemand[]): number {
  const each = demands.find(({ kind }) => kind === "each");
  return each?.count ?? Math.max(USUAL_COLUMNS, ...demands.map(({ count }) => count + 1));
}
