/** Whether parsed JSON has more than this many values, including nested ones. Stops at the first value beyond the limit. */
export function hasMoreValues(value: unknown, most: number): boolean {
  const open: unknown[] = [value];
  let count = 0;
  for (let next = open.pop(); open.length > 0 || next !== undefined; next = open.pop()) {
    count += 1;
    if (count > most) return true;
    if (typeof next !== "object" || next === null) continue;
    for (const key in next) {
      if (open.push((next as Record<string, unknown>)[key]) + count > most) return true;
    }
  }
  return false;
}
