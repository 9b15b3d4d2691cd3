const LONGEST_WAIT_SECONDS = 60;

/**
 * The seconds that a caller would wait for an answer, of `Prefer: wait=N` (RFC 7240), at most 60; undefined without
 * it. What is no such preference is nobody's fault and has no effect.
 */
export function waitOf(prefer: string | readonly string[] | undefined): number | undefined {
  const text = [prefer ?? []].flat().join(",");
  for (const preference of text.split(",")) {
    const seconds = /^\s*wait\s*=\s*"?(\d{1,9})"?\s*(;.*)?$/i.exec(preference)?.[1];
    // The first of several counts.
    if (seconds !== undefined) return Math.min(Number(seconds), LONGEST_WAIT_SECONDS);
  }
  return undefined;
}
