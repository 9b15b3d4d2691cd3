import { closeSync, openSync, writeSync } from "node:fs";
import { formatDay } from "../src/contract/data/dates.ts";

const DAYS = 5_000;
const FEATURES = 20;
/** Tickers whose values differ; a larger file repeats them under other names. */
const DISTINCT = 24;

/** Writes a canonical feature blob of at least `bytes` bytes, spaced as Python does. @returns its size. */
export function writeFeatureBlob(path: string, bytes: number): number {
  const dates = JSON.stringify(Array.from({ length: DAYS }, (_, i) => formatDay(12_000 + i)));
  const tickers = Array.from({ length: DISTINCT }, (_, i) => Buffer.from(tickerText(i)));
  const file = openSync(path, "wx");
  try {
    let size = writeSync(file, `{"dates": ${dates}, "features": {`);
    for (let i = 0; size < bytes; i++) {
      size += writeSync(file, `${i === 0 ? "" : ", "}"T${i}": `);
      size += writeSync(file, tickers[i % DISTINCT]!);
    }
    return size + writeSync(file, "}}");
  } finally {
    closeSync(file);
  }
}

/** Returns-like values with the 15 to 18 digits that Python and JavaScript print; a fifth are rounded to 6 places. */
function tickerText(seed: number): string {
  const random = generator(seed + 1);
  const columns = Array.from({ length: FEATURES }, (_, j) => {
    const values = Array.from({ length: DAYS }, (_, i) => {
      const value = (random() + random() + random() - 1.5) * 0.03;
      if (i < j) return "null";
      return j % 5 === 4 ? String(Math.round(value * 1e6) / 1e6) : String(value);
    });
    return `"feature_${j}": [${values.join(", ")}]`;
  });
  return `{${columns.join(", ")}}`;
}

/** Uniform on [0, 1) with 53 bits: two steps of the mulberry32 generator. */
function generator(seed: number): () => number {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  };
  return () => ((next() >>> 5) * 67_108_864 + (next() >>> 6)) / 9_007_199_254_740_992;
}
