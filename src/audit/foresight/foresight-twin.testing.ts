/** Spearman's correlation of the pairs without NaN, by counting and plain sums; NaN where there are fewer than 100. */
export function slowSpearman(pairs: readonly (readonly [number, number])[]): { c: number; n: number } {
  const present = pairs.filter((pair) => pair.every(Number.isFinite));
  const ranks = (side: 0 | 1) =>
    present.map(
      (pair) =>
        present.filter((other) => other[side] < pair[side]).length +
        present.filter((other) => other[side] === pair[side]).length / 2,
    );
  const [a, b] = [ranks(0), ranks(1)];
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [ma, mb] = [mean(a), mean(b)];
  const product = (u: readonly number[], mu: number, v: readonly number[], mv: number) =>
    u.reduce((sum, value, i) => sum + (value - mu) * (v[i]! - mv), 0);
  return {
    c: product(a, ma, b, mb) / Math.sqrt(product(a, ma, a, ma) * product(b, mb, b, mb)),
    n: present.length,
  };
}
