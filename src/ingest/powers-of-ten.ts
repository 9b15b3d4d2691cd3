/** Powers of ten from 10^-64 to 10^64 as unevaluated sums of two float64, for exact products. */
export const LARGEST_POWER = 64;

/** Veltkamp's constant, 2^27 + 1: cuts a float64 into two halves whose products are exact. */
export const SPLITTER = 134_217_729;

const COUNT = 2 * LARGEST_POWER + 1;

/** `HIGH[e + LARGEST_POWER]` is the float64 nearest to 10^e. */
export const HIGH = new Float64Array(COUNT);
/** 10^e - HIGH, rounded to float64: both together miss 10^e by less than 2^-106 of it. */
export const LOW = new Float64Array(COUNT);
/** HIGH cut in two after Veltkamp: `HIGH_UPPER + HIGH_LOWER` is HIGH, each with at most 26 significant bits. */
export const HIGH_UPPER = new Float64Array(COUNT);
export const HIGH_LOWER = new Float64Array(COUNT);

for (let e = -LARGEST_POWER; e <= LARGEST_POWER; e++) {
  const i = e + LARGEST_POWER;
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
  // 256 more bits before the division, so that its remainder does not matter.
  return Number((rest << 256n) / divisor) / 2 ** 256 / 2 ** bits;
}
