/**
 * The quantile of Student's t, to about 1e-12: found by halving, from the finite sums that its distribution is for a whole number of degrees
 * of freedom (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4).
 * @param freedom a whole number, at least 1. @param probability above 0.5 and below 1.
 */
export function studentQuantile(freedom: number, probability: number): number {
  // In angles, since t = sqrt(freedom) tan(angle) has no end.
  let [low, high] = [0, Math.PI / 2];
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (inside(middle, freedom) < 2 * probability - 1) low = middle;
    else high = middle;
  }
  return Math.sqrt(freedom) * Math.tan((low + high) / 2);
}

/** The probability of a t between - and + sqrt(freedom) tan(angle). */
function inside(angle: number, freedom: number): number {
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  const isOdd = freedom % 2 === 1;
  let term = isOdd ? cosine : 1;
  let sum = freedom === 1 ? 0 : term;
  for (let k = isOdd ? 2 : 1; k <= freedom - 3; k += 2) {
    term *= (k / (k + 1)) * cosine * cosine;
    sum += term;
  }
  return isOdd ? (2 / Math.PI) * (angle + sine * sum) : sine * sum;
}
