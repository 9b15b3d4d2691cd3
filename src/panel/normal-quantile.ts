import { naturalLog } from "./natural-log.ts";

/** Coefficients by falling power, of the numerator and the denominator, near the middle and in the tails. */
const MIDDLE = [
  [
    ...[2509.0809287301227, 33430.57558358813, 67265.7709270087, 45921.95393154987],
    ...[13731.69376550946, 1971.5909503065513, 133.14166789178438, 3.3871328727963665],
  ],
  [
    ...[5226.495278852854, 28729.085735721943, 39307.89580009271, 21213.794301586597],
    ...[5394.196021424751, 687.1870074920579, 42.31333070160091, 1],
  ],
] as const;
const TAIL = [
  [
    ...[0.0007745450142783414, 0.022723844989269184, 0.2417807251774506, 1.2704582524523684],
    ...[3.6478483247632045, 5.769497221460691, 4.630337846156546, 1.4234371107496835],
  ],
  [
    ...[1.0507500716444169e-9, 0.0005475938084995345, 0.015198666563616457, 0.14810397642748008],
    ...[0.6897673349851, 1.6763848301838038, 2.053191626637759, 1],
  ],
] as const;

/**
 * The quantile of the standard normal distribution, to 16 digits (Wichura 1988, algorithm AS 241, without the last tail).
 * @param p above 1e-10 and below 1 - 1e-10.
 */
export function normalQuantile(p: number): number {
  const q = p - 0.5;
  const isMiddle = Math.abs(q) <= 0.425;
  const r = isMiddle ? 0.180625 - q * q : Math.sqrt(-naturalLog(Math.min(p, 1 - p))) - 1.6;
  const [above, below] = (isMiddle ? MIDDLE : TAIL).map((coefficients) =>
    coefficients.reduce((sum, coefficient) => sum * r + coefficient, 0),
  );
  return (isMiddle ? q : Math.sign(q)) * (above! / below!);
}
