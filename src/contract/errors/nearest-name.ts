/**
 * The known name nearest to a mistyped one, by optimal string alignment distance (insertions, deletions, substitutions and swaps of
 * neighbours), case aside; undefined if more than a third of the letters differ.
 */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  const given = normalise(name);
  for (const candidate of known) {
    const other = normalise(candidate);
    const limit = Math.max(1, Math.ceil(Math.max(given.length, other.length) / 3));
    // The distance is at least the difference in length.
    if (Math.abs(given.length - other.length) > Math.min(limit, bestDistance - 1)) continue;
    const distance = alignmentDistance(given, other);
    if (distance <= limit && distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** The known names, the nearest to a mistyped one first. */
export function byNearness(name: string, known: readonly string[]): string[] {
  const given = normalise(name);
  const distances = new Map(known.map((other) => [other, alignmentDistance(given, normalise(other))]));
  return known.toSorted((a, b) => distances.get(a)! - distances.get(b)!);
}

const MAX_COMPARED_LENGTH = 100;

function normalise(name: string): string {
  return name
    .slice(0, MAX_COMPARED_LENGTH)
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, "_");
}

function alignmentDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, substituted);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, beforeLast[j - 2]! + 1);
      }
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}
