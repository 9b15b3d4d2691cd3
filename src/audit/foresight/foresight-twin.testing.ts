/** Spearman's correlation of the pairs without NaN, by counting and plain sums; NaN for fewer than 100. */
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

/**
 * Spearman's partial correlation of the first column with the second given all others, by the recursive formula; ranks are those
 * among the rows without NaN.
 */
export function slowPartial(rows: readonly (readonly number[])[]): number {
  const present = rows.filter((row) => row.every(Number.isFinite));
  const pairs = (i: number, j: number) => present.map((row) => [row[i]!, row[j]!] as const);
  const given = (i: number, j: number, others: readonly number[]): number => {
    const [z, ...rest] = others;
    if (z === undefined) return slowSpearman(pairs(i, j)).c;
    const [ij, iz, jz] = [given(i, j, rest), given(i, z, rest), given(j, z, rest)];
    return (ij - iz * jz) / Math.sqrt((1 - iz ** 2) * (1 - jz ** 2));
  };
  return given(0, 1, [...rows[0]!.keys()].slice(2));
}
