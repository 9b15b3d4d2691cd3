import { type RawJson, type RawNumber, rawNumber } from "../../json/json-text.ts";
import type { DrawSpec } from "./choice-config.ts";

/** Parameters with one value each, in the order in which the caller names them. */
export type SearchPoint = ReadonlyMap<string, RawJson>;

/** Every combination of a grid's values; the last parameter changes fastest. */
export function* gridPoints(grid: Readonly<Record<string, readonly RawJson[]>>): Generator<SearchPoint> {
  const names = Object.keys(grid);
  const total = gridSize(grid);
  for (let index = 0; index < total; index++) {
    const point: [string, RawJson][] = [];
    let rest = index;
    for (const name of names.toReversed()) {
      const values = grid[name]!;
      point.push([name, values[rest % values.length]!]);
      rest = Math.floor(rest / values.length);
    }
    yield new Map(point.reverse());
  }
}

export function gridSize(grid: Readonly<Record<string, readonly unknown[]>>): number {
  return Object.values(grid).reduce((size, { length }) => size * length, 1);
}

/** A search of few different points is given up after this many draws of each point that it asks for. */
const MAX_DRAWS_PER_POINT = 100;

/** Draws of more than ten parameters are given up earlier: 32 KiB may name a thousand, and each value takes microseconds. */
const MAX_VALUES_PER_POINT = 1_000;

/**
 * Different random points: `draws` of them, parameter after parameter, or as many as there are. A repeated draw is drawn again.
 * @param stream number of the candidate in the caller's list, so that its draws do not depend on the others.
 */
export function* drawnPoints(
  draws: number,
  specs: Readonly<Record<string, DrawSpec>>,
  seed: number,
  stream: number,
): Generator<SearchPoint> {
  const next = splitMix64(seed, stream);
  const seen = new Set<string>();
  const named = Object.entries(specs);
  const perPoint = Math.max(2, Math.min(MAX_DRAWS_PER_POINT, MAX_VALUES_PER_POINT / named.length));
  for (let i = 0; i < perPoint * draws && seen.size < draws; i++) {
    const point = named.map(([name, spec]) => [name, drawn(spec, next())] as const);
    const text = JSON.stringify(point);
    if (!seen.has(text)) yield new Map(point);
    seen.add(text);
  }
}

/** Significant digits of a drawn number: enough to search with, and the same on every machine. */
const DIGITS = 4;

/** The value of a distribution at a uniform number in [0, 1). */
function drawn({ log, uniform, int }: DrawSpec, u: number): RawNumber {
  if (int !== undefined) {
    const [low, high] = int;
    return rawNumber(String(low + Math.min(high - low, Math.floor(u * (high - low + 1)))));
  }
  const value =
    log === undefined
      ? interpolated(uniform!, u)
      : Math.exp(interpolated([Math.log(log[0]), Math.log(log[1])], u));
  return floatText(clamped(Number(value.toPrecision(DIGITS)), log ?? uniform!));
}

function interpolated([low, high]: readonly [number, number], u: number): number {
  return low + u * (high - low);
}

/** Rounding may have left the range. */
function clamped(value: number, [low, high]: readonly [number, number]): number {
  return Math.min(high, Math.max(low, value));
}

/** A number that Python reads as a float: `1.0`, not `1`. */
function floatText(value: number): RawNumber {
  const text = String(value);
  return rawNumber(/[.e]/.test(text) ? text : `${text}.0`);
}

const MASK = (1n << 64n) - 1n;

/**
 * Uniform numbers in [0, 1) with 53 random bits (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators").
 * @param stream selects an independent sequence of the seed.
 */
function splitMix64(seed: number, stream: number): () => number {
  let state = mixed(BigInt(seed)) ^ mixed(BigInt(stream) + 1n);
  return () => {
    state = (state + 0x9e3779b97f4a7c15n) & MASK;
    return Number(mixed(state) >> 11n) / 2 ** 53;
  };
}

function mixed(value: bigint): bigint {
  let z = value & MASK;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return z ^ (z >> 31n);
}
