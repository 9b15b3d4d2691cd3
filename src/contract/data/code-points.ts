/**
 * Order of two texts by Unicode code point, the order of tickers everywhere in the output. JavaScript's own `<`
 * and default sort go by UTF-16 unit, which puts U+1F600 before U+FF21; this does not.
 * @returns negative, zero or positive, as `Array.prototype.sort` wants it.
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
