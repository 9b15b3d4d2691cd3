/**
 * The probability that a standard normal number is further from 0 than t, either way: erfc(|t| / sqrt 2) by the Chebyshev
 * fit of Press et al., "Numerical Recipes" (1992), 6.2, with a relative error below 1.2e-7.
 */
export function twoSidedP(t: number): number {
  const x = Math.abs(t) / Math.SQRT2;
  const u = 1 / (1 + 0.5 * x);
  let polynomial = 0;
  for (const coefficient of ERFC) polynomial = polynomial * u + coefficient;
  return Math.min(1, u * Math.exp(-x * x + polynomial));
}

/** Of the highest power of u first. */
const ERFC = [
  0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196,
  1.00002368, -1.26551223,
];
