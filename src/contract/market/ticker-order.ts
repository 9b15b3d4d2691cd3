/**
 * Compares two texts by Unicode code point, the order of tickers in the output. JavaScript's own `<` and its default
 * sort compare UTF-16 units, which puts U+1F600 before U+FF21.
 * @returns negative, zero or positive, as `Array.prototype.sort` expects.
 */
export function compareCodePoints(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  for (let i = 0; i < shorter; ) {
    const left = a.codePointAt(i)!;
    const right = b.codePointAt(i)!;
    if (left !== right) return left - right;
    i += left > 0xffff ? 2 : 1;
  }
  return a.length - b.length;
}
