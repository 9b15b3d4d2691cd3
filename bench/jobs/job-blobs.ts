/** Blobs of synthetic markets. The generator is seeded, so that every run has the same. */
import { createWriteStream, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Day, formatDay, parseDay } from "../../src/contract/market/dates.ts";
import { dataExtractorText, featureEngineText } from "../../src/prepare/blob-files.ts";
import { preparePrices } from "../../src/prepare/prepare-prices.ts";

export interface JobBlobs {
  readonly featurePath: string;
  readonly dataExtractorPath: string;
}

/** Daily prices of geometric random walks over 2,500 weekdays, with the 26 features that `mucast prepare` makes from them. */
export async function writeMarket(tickers: number, folder: string): Promise<JobBlobs> {
  const csvPath = join(folder, "prices.csv");
  writeFileSync(csvPath, marketCsv(tickers));
  return preparePrices({ csvPath, outFolder: folder });
}

/** A wide CSV of daily prices: geometric random walks over 2,500 weekdays. */
export function marketCsv(tickers: number): string {
  const normal = normals();
  const prices = Array.from({ length: tickers }, () => 100);
  const lines = [["date", ...prices.map((_, t) => `T${t}`)].join(",")];
  for (const day of weekdays("2013-01-01", MARKET_DAYS)) {
    for (let t = 0; t < tickers; t++) prices[t]! *= Math.exp(0.01 * normal());
    lines.push([formatDay(day), ...prices.map((price) => price.toFixed(4))].join(","));
  }
  return `${lines.join("\n")}\n`;
}

export const MARKET_DAYS = 2_500;
export const SMALL = { days: 60, features: 10 } as const;

/** Tickers of 60 days and 10 noise features: two fits each with the default folds. */
export async function writeSmallTickers(tickers: number, folder: string): Promise<JobBlobs> {
  const normal = normals();
  const days = Int32Array.from(weekdays("2024-01-01", SMALL.days));
  const window = { start: days[0]!, end: days.at(-1)! };
  const names = Array.from({ length: tickers }, (_, t) => `T${t}`);
  const columns = Array.from({ length: SMALL.features }, (_, c) => `feature_${c}`);
  const walk = (ticker: string) => {
    let price = 100;
    const prices = Float64Array.from(days, () => (price *= Math.exp(0.01 * normal())));
    return { ticker, days, prices };
  };
  const noise = (ticker: string) => {
    const values = Float64Array.from({ length: days.length * columns.length }, () => normal());
    return { ticker, days, columns, values };
  };
  const blobs = {
    featurePath: join(folder, "features.json"),
    dataExtractorPath: join(folder, "prices.json"),
  };
  const write = (path: string, text: Iterable<string>) =>
    pipeline(Readable.from(text), createWriteStream(path));
  await write(blobs.dataExtractorPath, dataExtractorText(window, days, names.values().map(walk)));
  await write(blobs.featurePath, featureEngineText(days, names.values().map(noise)));
  return blobs;
}

function weekdays(first: string, count: number): Day[] {
  const days: Day[] = [];
  for (let day = parseDay(first)!; days.length < count; day++) {
    const weekday = (day + 4) % 7;
    if (weekday !== 0 && weekday !== 6) days.push(day);
  }
  return days;
}

/** Numbers of the standard normal distribution. */
function normals(): () => number {
  let state = 12345;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}
