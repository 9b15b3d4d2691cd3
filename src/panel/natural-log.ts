/**
 * ln(x), correctly rounded: the float64 nearest to the true value, on every machine. `Math.log` is off by one unit in the last place on about
 * one label in a hundred, and differs between languages.
 * @param x finite and above zero.
 */
export function naturalLog(x: number): number {
  const quick = x > Math.SQRT1_2 && x < Math.SQRT2 ? quickLog(x) : undefined;
  return quick ?? toFloat(fixedLog(x));
}

/** ln(a / b), correctly rounded, if the quotient itself leaves the range of a float64. @param a, b finite and above zero. */
export function logOfRatio(a: number, b: number): number {
  return toFloat(fixedLog(a) - fixedLog(b));
}

/** Of a fixed-point number: 53 for the smallest logarithm, 53 for its digits, and the rest so that the last of these is rounded correctly. */
const FRACTION_BITS = 200;
const ONE = 1n << BigInt(FRACTION_BITS);

/** A power of two that makes an integer of every float64 in [1/2, 2]. */
const UNIT = 2 ** 60;

const LN2 = 2n * inverseTanh(ONE / 3n);

/** x = 2^e m with m near [1, 2); ln(x) = e ln 2 + 2 atanh((m - 1) / (m + 1)), as a fixed-point number. */
function fixedLog(x: number): bigint {
  const exponent = Math.min(1023, Math.floor(Math.log2(x)));
  const [m, unit] = [BigInt((x / 2 ** exponent) * UNIT), BigInt(UNIT)];
  return BigInt(exponent) * LN2 + 2n * inverseTanh((ONE * (m - unit)) / (m + unit));
}

/** s + s³ / 3 + s⁵ / 5 + … */
function inverseTanh(s: bigint): bigint {
  const square = (s * s) / ONE;
  let [power, sum] = [s, 0n];
  for (let k = 1n; power !== 0n; k += 2n) {
    sum += power / k;
    power = (power * square) / ONE;
  }
  return sum;
}

function toFloat(fixed: bigint): number {
  return Number(fixed) / 2 ** FRACTION_BITS;
}

/** The coefficients of atanh(s) / s in s²: enough for the largest s², 0.0295. */
const COEFFICIENTS = Float64Array.from({ length: 12 }, (_, k) => 1 / (2 * k + 1));

/** 2^27 + 1 splits a float64 into two halves of 26 bits, whose products are exact (Veltkamp). */
const SPLITTER = 134_217_729;

/**
 * ln(m) if a float64 for all terms but the first decides the rounding, as it nearly always does; an error bound shows whether (Ziv, "Fast
 * evaluation of elementary mathematical functions with correctly rounded last bit", 1991).
 */
function quickLog(m: number): number | undefined {
  const sum = m + 1;
  const sumError = m - (sum - 1);
  const numerator = m - 1;
  const s = numerator / sum;
  const p = s * sum;
  const sLow = (numerator - p - productError(s, sum, p) - s * sumError) / sum;
  const square = s * s;
  let tail = 0;
  for (let k = square < 0.003 ? 6 : 11; k >= 1; k--) tail = tail * square + COEFFICIENTS[k]!;
  const terms = 2 * s * square * tail;
  const error = Math.abs(terms) * 2 ** -48 + Math.abs(s) * 2 ** -98;
  const low = 2 * sLow + terms;
  const rounded = 2 * s + (low + error);
  return rounded === 2 * s + (low - error) ? rounded : undefined;
}

/** a b - p exactly, p the float64 nearest to a b (Dekker). */
function productError(a: number, b: number, p: number): number {
  const aHead = SPLITTER * a - (SPLITTER * a - a);
  const bHead = SPLITTER * b - (SPLITTER * b - b);
  const [aTail, bTail] = [a - aHead, b - bHead];
  return aHead * bHead - p + aHead * bTail + aTail * bHead + aTail * bTail;
}
