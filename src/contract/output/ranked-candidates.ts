/** Tables of candidates show this many; there may be 100. */
export const MAX_CANDIDATES_SHOWN = 20;

/** Candidates with their numbers, the largest gain over candidate 0 first; those without a gain come last, by number. */
export function rankedCandidates<T extends { readonly gain: number | null }>(
  candidates: readonly T[],
): (T & { readonly number: number })[] {
  return candidates
    .map((candidate, number) => ({ ...candidate, number }))
    .sort((a, b) => compareGains(b.gain, a.gain) || a.number - b.number);
}

function compareGains(a: number | null, b: number | null): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  return a - b;
}
