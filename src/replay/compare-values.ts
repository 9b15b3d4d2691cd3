import type { Differences, Path } from "./differences.ts";

/**
 * Decides whether the recorded document may lack a member: returns the pattern of the path, such as
 * `metrics.score.by_ticker.*.up_share`, or undefined for a member that every output has.
 */
export type MayLack = (path: Path) => string | undefined;

/** Counts every difference between two JSON values, in the order of the recorded one. At most MAX_JSON_DEPTH levels deep. */
export function compareValues(
  path: Path,
  recorded: unknown,
  replayed: unknown,
  differences: Differences,
  mayLack: MayLack,
): void {
  if (typeof recorded === "number" && typeof replayed === "number") {
    if (Object.is(recorded, replayed)) return;
    if (Number.isFinite(recorded)) differences.number(path, recorded, replayed);
    // From a text such as 1e999, which no job writes.
    else differences.other(path, String(recorded), replayed);
  } else if (Array.isArray(recorded) && Array.isArray(replayed)) {
    const shared = Math.min(recorded.length, replayed.length);
    for (let i = 0; i < shared; i++) {
      compareValues([...path, i], recorded[i], replayed[i], differences, mayLack);
    }
    if (recorded.length !== replayed.length) {
      differences.other([...path, "length"], recorded.length, replayed.length);
    }
  } else if (isObject(recorded) && isObject(replayed)) {
    for (const [key, value] of Object.entries(recorded)) {
      const other = Object.hasOwn(replayed, key) ? replayed[key] : undefined;
      if (other === undefined) differences.other([...path, key], value, undefined);
      else compareValues([...path, key], value, other, differences, mayLack);
    }
    for (const [key, value] of Object.entries(replayed)) {
      if (!Object.hasOwn(recorded, key)) addedMember([...path, key], value, differences, mayLack);
    }
  } else if (recorded !== replayed) differences.other(path, recorded, replayed);
}

/** A member that only the replayed document has. */
export function addedMember(path: Path, value: unknown, differences: Differences, mayLack: MayLack): void {
  const pattern = mayLack(path);
  if (pattern === undefined) differences.other(path, undefined, value);
  else differences.lack(pattern);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
