/**
 * ln(x), correctly rounded: the float64 nearest to the true value, on every machine. `Math.log` is off by one unit in the
 * last place on about one label in a hundred, and differs between languages.
 *
 * x = 2^e m with m in [sqrt(1/2), sqrt(2)); ln(m) = 2 atanh(s), s = (m - 1) / (m + 1), by its series. The sums are
 * double-double, about 100 bits (Dekker, "A floating-point technique for extending the available precision", 1971), so that a
 * result would have to lie within 2^-45 units of halfway between two float64 to be rounded wrongly.
 *
 * @param x finite and above zero.
 */
export function naturalLog(x: number): number {
  const quick = x > Math.SQRT1_2 && x < Math.SQRT2 ? quickLogNearOne(x) : undefined;
  if (quick !== undefined) return quick;
  const [high, low] = logarithm(x);
  return high + low;
}

/** ln(a / b), correctly rounded, if the quotient itself leaves the range of a float64. @param a, b finite and above zero. */
export function logOfRatio(a: number, b: number): number {
  const [high, low] = logarithm(a);
  const [subtrahend, subtrahendLow] = logarithm(b);
  const [difference, error] = twoSum(high, -subtrahend);
  return difference + (error + (low - subtrahendLow));
}

/** The unevaluated sum of two float64, the second at most half a unit in the last place of the first. */
type DoubleDouble = readonly [high: number, low: number];

const LN2: DoubleDouble = [Math.LN2, 2.3190468138462996e-17];

function logarithm(x: number): DoubleDouble {
  const [m, e] = split(x);
  const [mantissa, mantissaLow] = logNearOne(m);
  if (e === 0) return [mantissa, mantissaLow];
  const [power, powerLow] = product(LN2[0], LN2[1], e, 0);
  // |e| ln 2 is at least twice |ln m|, so nothing cancels.
  const [sum, error] = twoSum(power, mantissa);
  return quickTwoSum(sum, error + (powerLow + mantissaLow));
}

const bits = new DataView(new ArrayBuffer(8));

/** @returns m in [sqrt(1/2), sqrt(2)) and e with x = 2^e m. */
function split(x: number): readonly [m: number, e: number] {
  // A subnormal number has no separate exponent.
  const scaled = x < 2 ** -1022 ? x * 2 ** 54 : x;
  bits.setFloat64(0, scaled);
  const head = bits.getUint32(0);
  const exponent = (head >>> 20) - 1023 - (scaled === x ? 0 : 54);
  bits.setUint32(0, (head & 0x000f_ffff) | 0x3ff0_0000);
  const m = bits.getFloat64(0);
  return m < Math.SQRT2 ? [m, exponent] : [m / 2, exponent + 1];
}

/** 2^27 + 1 splits a float64 into two halves of 26 bits, whose products are exact (Veltkamp). */
const SPLITTER = 134_217_729;

/** The coefficients 1 / (2k + 1) of atanh(s) / s in s²: enough for the largest s², 0.0295. */
const COEFFICIENTS: readonly DoubleDouble[] = Array.from({ length: 24 }, (_, k) =>
  quotient(1, 0, 2 * k + 1, 0),
);

const FLOATS = Float64Array.from(COEFFICIENTS, ([high]) => high);

/** ln(m) for m in [sqrt(1/2), sqrt(2)). */
function logNearOne(m: number): DoubleDouble {
  if (m === 1) return [0, 0];
  const [sum, sumError] = twoSum(m, 1);
  const [s, sLow] = quotient(m - 1, 0, sum, sumError);
  const [square, squareLow] = product(s, sLow, s, sLow);
  // Terms below 2^-56 of the first need only a float64; terms below 2^-112 of it change nothing.
  const exact = Math.min(COEFFICIENTS.length / 2, 1 + Math.floor(-56 / Math.log2(square)));
  let tail = 0;
  for (let k = 2 * exact - 1; k >= exact; k--) tail = tail * square + COEFFICIENTS[k]![0];
  let high = tail;
  let low = 0;
  for (let k = exact - 1; k >= 0; k--) {
    const [term, termLow] = product(high, low, square, squareLow);
    const [coefficient, coefficientLow] = COEFFICIENTS[k]!;
    const [next, error] = twoSum(coefficient, term);
    [high, low] = quickTwoSum(next, error + (termLow + coefficientLow));
  }
  return product(high, low, 2 * s, 2 * sLow);
}

/**
 * ln(m) if a float64 for all terms but the first decides the rounding, as it nearly always does; an error bound shows whether (Ziv, "Fast
 * evaluation of elementary mathematical functions with correctly rounded last bit", 1991).
 */
function quickLogNearOne(m: number): number | undefined {
  const sum = m + 1;
  const sumError = m - (sum - 1);
  const numerator = m - 1;
  const s = numerator / sum;
  const p = s * sum;
  const sLow = (numerator - p - productError(s, sum, p) - s * sumError) / sum;
  const square = s * s;
  let tail = 0;
  for (let k = square < 0.003 ? 6 : 11; k >= 1; k--) tail = tail * square + FLOATS[k]!;
  const terms = 2 * s * square * tail;
  const error = Math.abs(terms) * 2 ** -48 + Math.abs(s) * 2 ** -98;
  const low = 2 * sLow + terms;
  const rounded = 2 * s + (low + error);
  return rounded === 2 * s + (low - error) ? rounded : undefined;
}

/** a + b exactly (Knuth). */
function twoSum(a: number, b: number): DoubleDouble {
  const sum = a + b;
  const part = sum - a;
  return [sum, a - (sum - part) + (b - part)];
}

/** a + b exactly, if |a| >= |b| (Dekker). */
function quickTwoSum(a: number, b: number): DoubleDouble {
  const sum = a + b;
  return [sum, b - (sum - a)];
}

function product(a: number, aLow: number, b: number, bLow: number): DoubleDouble {
  const p = a * b;
  return quickTwoSum(p, productError(a, b, p) + (a * bLow + aLow * b));
}

/** a b - p exactly, p the float64 nearest to a b (Dekker). */
function productError(a: number, b: number, p: number): number {
  const aScaled = SPLITTER * a;
  const aHead = aScaled - (aScaled - a);
  const aTail = a - aHead;
  const bScaled = SPLITTER * b;
  const bHead = bScaled - (bScaled - b);
  const bTail = b - bHead;
  return aHead * bHead - p + aHead * bTail + aTail * bHead + aTail * bTail;
}

function quotient(a: number, aLow: number, b: number, bLow: number): DoubleDouble {
  const first = a / b;
  const [p, pLow] = product(b, bLow, first, 0);
  const [rest, error] = twoSum(a, -p);
  return quickTwoSum(first, (rest + (error + (aLow - pLow))) / b);
}
