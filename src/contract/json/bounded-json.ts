export function jsonBytes(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

/** The text itself, or its longest beginning that fits with an ellipsis into `bytes` bytes of JSON. No surrogate pair is cut. */
export function shortText(text: string, bytes: number): string {
  if (text.length <= bytes && jsonBytes(text) <= bytes) return text;
  const beginning = (length: number) =>
    `${text.slice(0, text.codePointAt(length - 1)! > 0xffff ? length - 1 : length)}…`;
  let [low, high] = [0, Math.min(text.length, bytes)];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (jsonBytes(beginning(middle)) <= bytes) low = middle;
    else high = middle - 1;
  }
  return beginning(low);
}

/** In bytes of JSON in UTF-8. */
interface CopyLimit {
  readonly bytes: number;
  /** Of each text in the copy. */
  readonly text: number;
}

/**
 * A copy of a JSON value within a limit; undefined if not even an empty one fits. Longer texts are cut. A list keeps as many of its first
 * entries as fit completely. An object loses the members that do not fit.
 */
export function boundedCopy<T>(value: T, limit: CopyLimit): T | undefined {
  return copyOf(value, limit) as T | undefined;
}

function copyOf(value: unknown, { bytes, text }: CopyLimit): unknown {
  if (typeof value === "string") {
    const short = shortText(value, Math.min(bytes, text));
    return jsonBytes(short) <= bytes ? short : undefined;
  }
  let used = 2;
  if (Array.isArray(value) && used <= bytes) {
    const kept: unknown[] = [];
    for (const entry of value) {
      const whole = copyOf(entry ?? null, { bytes: Number.POSITIVE_INFINITY, text }) ?? null;
      used += jsonBytes(whole) + (kept.length === 0 ? 0 : 1);
      if (used > bytes) break;
      kept.push(whole);
    }
    return kept;
  }
  const isPlain = typeof value === "object" && value !== null && value.constructor === Object;
  if (isPlain && !("toJSON" in value) && used <= bytes) {
    const kept: [string, unknown][] = [];
    for (const [key, member] of Object.entries(value)) {
      const name = jsonBytes(key) + (kept.length === 0 ? 1 : 2);
      const copy = member === undefined ? undefined : copyOf(member, { bytes: bytes - used - name, text });
      if (copy === undefined) continue;
      kept.push([key, copy]);
      used += name + jsonBytes(copy);
    }
    return Object.fromEntries(kept);
  }
  return JSON.stringify(value) !== undefined && jsonBytes(value) <= bytes ? value : undefined;
}

/** Whether parsed JSON has more than this many values, including nested ones. Stops at the first value beyond the limit. */
export function hasMoreValues(value: unknown, most: number): boolean {
  const open: unknown[] = [value];
  for (let count = 1; open.length > 0; count++) {
    if (count > most) return true;
    const next = open.pop();
    if (typeof next !== "object" || next === null) continue;
    for (const key in next) {
      if (open.push((next as Record<string, unknown>)[key]) + count > most) return true;
    }
  }
  return false;
}
