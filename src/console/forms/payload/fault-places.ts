import type { Problem } from "../../../contract/problems/problem.ts";
import type { Path } from "../fields/payload-tree.ts";

/** What a form shows of a fault. */
export interface ShownFault {
  /** As the service names it, such as `config.ML params.n_splits`; empty for a fault of the request as a whole. */
  readonly path: string;
  readonly message: string;
}

/** Faults that a form shows of one answer; the service lists at most as many. */
export const MAX_FAULTS = 100;

/** Every fault of a problem; of one without a list the problem itself. */
export function faultsIn({ faults, path = "", detail }: Problem): readonly ShownFault[] {
  if (faults === undefined || faults.length === 0) return [{ path, message: detail }];
  return faults.slice(0, MAX_FAULTS).map(({ path: at, message, suggestion }) => ({
    path: at,
    message: suggestion === undefined ? message : `${message} (did you mean ${suggestion}?)`,
  }));
}

/** A member's path as the service writes it: keys joined by dots, as they are. */
export function pathName(path: Path): string {
  return path.join(".");
}

/**
 * Faults by the place that shows them: the longest of these paths that a fault's own path is, or lies below. Keys may
 * hold dots themselves, so paths are compared as text from their beginning.
 * @returns `elsewhere`: those that no place is for.
 */
export function placeFaults(
  faults: readonly ShownFault[],
  places: readonly Path[],
): { readonly at: ReadonlyMap<string, readonly ShownFault[]>; readonly elsewhere: readonly ShownFault[] } {
  // The longest first.
  const names = places.map(pathName).sort((a, b) => b.length - a.length);
  const byPlace = Map.groupBy(faults, ({ path }) => names.find((name) => isAtOrBelow(path, name)));
  const { elsewhere = [], at } = {
    elsewhere: byPlace.get(undefined),
    at: new Map<string, readonly ShownFault[]>(),
  };
  for (const [name, found] of byPlace) if (name !== undefined) at.set(name, found);
  return { at, elsewhere };
}

function isAtOrBelow(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}.`) || path.startsWith(`${place}[`);
}
