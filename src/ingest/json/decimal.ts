/** Powers of ten that are exact in float64: 10^0 to 10^22. */
const EXACT = Float64Array.from({ length: 23 }, (_, e) => Number(`1e${e}`));
const MAX_EXACT = EXACT.length - 1;
/** Relative: far above the error of nearestDouble's product, far below the distance between two float64. */
const MARGIN = 2 ** -100;
/** The number of digits that fit into the two 32-bit integers together. */
const MAX_DIGITS = 18;

const ZERO = 48;
const MINUS = 45;
const PLUS = 43;
const POINT = 46;
const LOWER_E = 101;
const LOWER_CASE = 32;

/**
 * Reads a JSON number at `bytes[at]`, up to the first byte that cannot belong to it; `bytes` must have such a byte. Writes the nearest
 * float64, ties to even, as JSON.parse does, to `out[slot]`; NaN, meaning missing, if it overflows.
 * @returns the position after the number, or `~position` (negative) of the first byte that breaks the grammar.
 */
export function scanNumber(bytes: Uint8Array, at: number, out: Float64Array, slot: number): number {
  let p = at;
  let c = bytes[p]!;
  const negative = c === MINUS;
  if (negative) c = bytes[++p]!;
  // The significant digits as upper * 10^lowerDigits + lower, with the first nine in `upper`.
  let upper = 0;
  let lower = 0;
  let lowerDigits = 0;
  let digits = 0;
  let d = c - ZERO;
  if (d === 0) c = bytes[++p]!;
  else if (d > 0 && d <= 9) {
    do {
      if (digits < 9) upper = (Math.imul(upper, 10) + d) | 0;
      else if (digits < MAX_DIGITS) {
        lower = (Math.imul(lower, 10) + d) | 0;
        lowerDigits++;
      }
      digits++;
      c = bytes[++p]!;
      d = c - ZERO;
    } while (d >= 0 && d <= 9);
  } else return ~p;
  let exponent = 0;
  if (c === POINT) {
    c = bytes[++p]!;
    d = c - ZERO;
    if (d < 0 || d > 9) return ~p;
    const fraction = p;
    if (digits === 0) {
      while (d === 0) {
        c = bytes[++p]!;
        d = c - ZERO;
      }
    }
    while (d >= 0 && d <= 9 && digits < 9) {
      upper = (Math.imul(upper, 10) + d) | 0;
      digits++;
      c = bytes[++p]!;
      d = c - ZERO;
    }
    const lowerStart = p;
    const lowerEnd = p + MAX_DIGITS - digits;
    while (d >= 0 && d <= 9 && p < lowerEnd) {
      lower = (Math.imul(lower, 10) + d) | 0;
      c = bytes[++p]!;
      d = c - ZERO;
    }
    lowerDigits += p - lowerStart;
    while (d >= 0 && d <= 9) {
      c = bytes[++p]!;
      d = c - ZERO;
    }
    digits += p - lowerStart;
    exponent = fraction - p;
  }
  if ((c | LOWER_CASE) === LOWER_E) {
    c = bytes[++p]!;
    const downwards = c === MINUS;
    if (downwards || c === PLUS) c = bytes[++p]!;
    d = c - ZERO;
    if (d < 0 || d > 9) return ~p;
    let written = 0;
    while (d >= 0 && d <= 9) {
      written = written * 10 + d;
      c = bytes[++p]!;
      d = c - ZERO;
    }
    exponent += downwards ? -written : written;
  }
  let value = Number.NaN;
  if (digits <= MAX_DIGITS) value = nearestDouble(upper, lower, lowerDigits, exponent);
  // NaN marks one of the few numbers that need arbitrary precision.
  if (Number.isNaN(value)) value = numberOf(bytes, negative ? at + 1 : at, p);
  out[slot] = negative ? -value : value;
  return p;
}

/**
 * (upper * 10^lowerDigits + lower) * 10^exponent rounded to nearest, ties to even. `upper` < 10^9 is positive
 * wherever lowerDigits > 0; `lower` < 10^lowerDigits <= 10^9.
 *
 * Up to 2^53 and 10^22 both operands are exact and IEEE arithmetic rounds once (Clinger 1990). Beyond, the digits are an exact sum of two
 * float64 and are multiplied by 10^exponent, a sum of two float64 also, with Dekker's exact product (1971). A handful of terms of 2^-106 of
 * the result each are dropped or rounded; if moving the sum by 2^-100 in either direction changes nothing, it is correct.
 * @returns NaN if this does not decide.
 */
function nearestDouble(upper: number, lower: number, lowerDigits: number, exponent: number): number {
  // Exact: `upper` has 30 bits, and 10^9 has 21 without its factors of two.
  const leading = upper * EXACT[lowerDigits]!;
  const sum = leading + lower;
  if (sum <= Number.MAX_SAFE_INTEGER) {
    if (exponent === 0) return sum;
    if (exponent < 0 && exponent >= -MAX_EXACT) return sum / EXACT[-exponent]!;
    if (exponent > 0 && exponent <= MAX_EXACT) return sum * EXACT[exponent]!;
  }
  if (exponent < -MAX_POWER || exponent > MAX_POWER || sum === 0) return Number.NaN;
  const rest = lower - (sum - leading);
  const i = exponent + MAX_POWER;
  const high = HIGH[i]!;
  const highUpper = HIGH_UPPER[i]!;
  const highLower = HIGH_LOWER[i]!;
  const scaled = sum * SPLITTER;
  const sumUpper = scaled - (scaled - sum);
  const sumLower = sum - sumUpper;
  const product = sum * high;
  const error =
    sumUpper * highUpper - product + sumUpper * highLower + sumLower * highUpper + sumLower * highLower;
  const tail = error + (sum * LOW[i]! + rest * high);
  const margin = product * MARGIN;
  const value = product + (tail - margin);
  return value === product + (tail + margin) ? value : Number.NaN;
}

/** The slow way, for at most one number in millions: as text, with JavaScript's own conversion. */
function numberOf(bytes: Uint8Array, start: number, end: number): number {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("latin1");
  const value = Number(text);
  return value === Number.POSITIVE_INFINITY ? Number.NaN : value;
}

/** Powers of ten from 10^-64 to 10^64 as unevaluated sums of two float64, for exact products. */
const MAX_POWER = 64;

/** Veltkamp's constant, 2^27 + 1: splits a float64 into two halves whose products are exact. */
const SPLITTER = 134_217_729;

const COUNT = 2 * MAX_POWER + 1;

/** `HIGH[e + MAX_POWER]` is the float64 nearest to 10^e. */
const HIGH = new Float64Array(COUNT);
/** 10^e - HIGH, rounded to float64: both together miss 10^e by less than 2^-106 of it. */
const LOW = new Float64Array(COUNT);
/** HIGH split by Veltkamp: `HIGH_UPPER + HIGH_LOWER` is HIGH, each with at most 26 significant bits. */
const HIGH_UPPER = new Float64Array(COUNT);
const HIGH_LOWER = new Float64Array(COUNT);

for (let e = -MAX_POWER; e <= MAX_POWER; e++) {
  const i = e + MAX_POWER;
  const high = Number(`1e${e}`);
  const scaled = high * SPLITTER;
  HIGH[i] = high;
  HIGH_UPPER[i] = scaled - (scaled - high);
  HIGH_LOWER[i] = high - HIGH_UPPER[i];
  LOW[i] = restOfPower(e, high);
}

/** 10^e - high, from exact integers. */
function restOfPower(e: number, high: number): number {
  if (e >= 0) return Number(10n ** BigInt(e) - BigInt(high));
  const divisor = 10n ** BigInt(-e);
  let mantissa = high;
  let bits = 0;
  while (!Number.isInteger(mantissa)) {
    mantissa *= 2;
    bits++;
  }
  const rest = (1n << BigInt(bits)) - BigInt(mantissa) * divisor;
  // 256 extra bits before the division, so that its remainder does not matter.
  return Number((rest << 256n) / divisor) / 2 ** 256 / 2 ** bits;
}
