// Writes the two blobs of this folder: `node make.mjs [FOLDER]`. Three made-up tickers, 60 weekdays, three features
// known at the close of their date. Seeded and built on Node alone, so it gives the same bytes everywhere.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const DAYS = 60;
const SEED = 20240102;

/** Mulberry32 by Tommy Ettinger (public domain): uniform in [0, 1). */
function uniform(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function weekdays(first, count) {
  const dates = [];
  for (let day = Date.parse(first); dates.length < count; day += 86_400_000) {
    const weekday = new Date(day).getUTCDay();
    if (weekday !== 0 && weekday !== 6) dates.push(new Date(day).toISOString().slice(0, 10));
  }
  return dates;
}

/** Prices in cents whose returns lean a little on the day before, so that there is something to learn. */
function walk(next, start) {
  const prices = [start];
  let last = 0;
  while (prices.length < DAYS) {
    const noise = (next() + next() + next() - 1.5) / 50;
    last = 0.4 * last + noise;
    prices.push(Math.round(prices.at(-1) * (1 + last) * 100) / 100);
  }
  return prices;
}

const round = (value) => Math.round(value * 1e6) / 1e6;

function features(prices) {
  const change = (i, h) => (i < h ? null : round(prices[i] / prices[i - h] - 1));
  const range = (i) => {
    const week = prices.slice(i - 4, i + 1);
    return i < 4 ? null : round((Math.max(...week) - Math.min(...week)) / prices[i]);
  };
  return {
    ret_1: prices.map((_, i) => change(i, 1)),
    ret_5: prices.map((_, i) => change(i, 5)),
    range_5: prices.map((_, i) => range(i)),
  };
}

const next = uniform(SEED);
const dates = weekdays("2024-01-02", DAYS);
const prices = { ALFA: walk(next, 100), BETA: walk(next, 40), GAMA: walk(next, 250) };
const byTicker = Object.fromEntries(Object.entries(prices).map(([ticker, own]) => [ticker, features(own)]));
const window = { start: dates[0], end: dates.at(-1), Learning_end: dates[51] };

const folder = join(process.argv[2] ?? import.meta.dirname, "data");
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "data_extractor_tiny.json"), `${JSON.stringify({ ...window, dates, prices })}\n`);
writeFileSync(join(folder, "feature_engine_tiny.json"), `${JSON.stringify({ dates, features: byTicker })}\n`);
