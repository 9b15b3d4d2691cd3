/** Trading days of a block: returns within a month keep their order, their clusters and their tickers. */
export const BLOCK_DATES = 20;

/** Fewer blocks give too few orders. */
export const MIN_BLOCKS = 5;

const SEED = 42;

/**
 * Orders of n dates in which blocks of BLOCK_DATES successive dates are permuted; the last block may be shorter. The same n and count
 * give the same orders on every machine.
 * @returns `count` arrays of shape (n): for each date, the date that its labels come from.
 */
export function* blockPermutations(n: number, count: number): Generator<Int32Array> {
  const blocks = Math.ceil(n / BLOCK_DATES);
  const uniform = uniformNumbers(SEED);
  for (let k = 0; k < count; k++) {
    const order = shuffled(blocks, uniform);
    const dates = new Int32Array(n);
    let at = 0;
    for (const block of order) {
      const end = Math.min(n, (block + 1) * BLOCK_DATES);
      for (let date = block * BLOCK_DATES; date < end; date++) dates[at++] = date;
    }
    yield dates;
  }
}

/** `count` orders of n tickers; the same on every machine. */
export function* tickerPermutations(n: number, count: number): Generator<Int32Array> {
  const uniform = uniformNumbers(SEED);
  for (let k = 0; k < count; k++) yield shuffled(n, uniform);
}

/** Fisher and Yates. */
function shuffled(n: number, uniform: () => number): Int32Array {
  const order = Int32Array.from({ length: n }, (_, i) => i);
  for (let i = n - 1; i > 0; i--) {
    const j = Math.floor(uniform() * (i + 1));
    const held = order[i]!;
    order[i] = order[j]!;
    order[j] = held;
  }
  return order;
}

/** Uniform in [0, 1): mulberry32 (Tommy Ettinger, public domain). */
function uniformNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
