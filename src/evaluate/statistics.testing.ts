/** Statistics as their definitions read, for comparison. */

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** NaN for no values. */
export function average(values: readonly number[]): number {
  return sum(values) / values.length;
}

/** Pearson's correlation; NaN if a side is constant. */
export function slowCorrelation(a: readonly number[], b: readonly number[]): number {
  const distinct = (side: readonly number[]) => new Set(side.map((value) => value + 0)).size;
  if (distinct(a) < 2 || distinct(b) < 2) return Number.NaN;
  const centred = (side: readonly number[]) => side.map((value) => value - average(side));
  const [x, y] = [centred(a), centred(b)];
  const squares = (side: readonly number[]) => sum(side.map((value) => value ** 2));
  return sum(x.map((value, i) => value * y[i]!)) / Math.sqrt(squares(x) * squares(y));
}

/** A value's rank is one more than the number of smaller values, plus half of the others equal to it. */
export function slowRanks(values: readonly number[]): number[] {
  return values.map((value) => {
    const smaller = values.filter((other) => other < value).length;
    const equal = values.filter((other) => other === value).length;
    return smaller + (equal + 1) / 2;
  });
}

/** The error of a mean by Newey and West: all pairs of dates, of which those more than 5 apart count as uncorrelated. */
export function slowNeweyWestError(values: readonly number[]): number {
  const centre = average(values);
  const products = values.flatMap((a, i) =>
    values.map((b, j) => Math.max(0, 1 - Math.abs(i - j) / 6) * (a - centre) * (b - centre)),
  );
  return Math.sqrt(sum(products)) / values.length;
}

/** From 60 dates on by cosine sums. */
export function slowError(values: readonly number[]): number {
  const n = values.length;
  if (n < 60) return slowNeweyWestError(values);
  const centre = average(values);
  const cosines = [1, 2, 3, 4, 5, 6, 7, 8].map((j) =>
    sum(values.map((value, d) => Math.cos((Math.PI * j * (d + 0.5)) / n) * (value - centre))),
  );
  return Math.sqrt((average(cosines.map((value) => value ** 2)) * 2) / n / n);
}
