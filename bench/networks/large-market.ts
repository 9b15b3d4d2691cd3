import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { formatDay } from "../../src/contract/market/dates.ts";
import { seededRandom } from "../../test/twins/random.ts";

interface MarketSize {
  readonly tickers: number;
  readonly days: number;
  readonly features: number;
}

/** The number of tickers with distinct columns; a larger market repeats them under other names. */
const DISTINCT = 10;

/** Writes both blobs of a market of any size, ticker by ticker; features have 16 digits, like doubles. */
export async function writeLargeMarket(folder: string, size: MarketSize) {
  const dates = JSON.stringify(Array.from({ length: size.days }, (_, i) => formatDay(12_000 + i)));
  const distinct = Array.from({ length: Math.min(DISTINCT, size.tickers) }, (_, i) => tickerText(i, size));
  const featurePath = join(folder, "feature_engine.json");
  const dataExtractorPath = join(folder, "data_extractor.json");
  await writeGzip(
    featurePath,
    blobText(`"dates":${dates},"features"`, size, (t) => distinct[t % DISTINCT]!),
  );
  const prices = (t: number) => JSON.stringify(randomWalk(t, size.days));
  await writeGzip(dataExtractorPath, blobText(`"dates":${dates},"prices"`, size, prices));
  return { featurePath, dataExtractorPath };
}

function* blobText(head: string, { tickers }: MarketSize, textOf: (ticker: number) => string) {
  yield `{${head}:{`;
  for (let t = 0; t < tickers; t++) yield `${t === 0 ? "" : ","}"T${t}":${textOf(t)}`;
  yield "}}";
}

async function writeGzip(path: string, pieces: Iterable<string>): Promise<void> {
  await pipeline(Readable.from(pieces), createGzip({ level: 1 }), createWriteStream(path));
}

function tickerText(seed: number, { days, features }: MarketSize): string {
  const random = seededRandom(seed + 1);
  const columns = Array.from({ length: features }, (_, j) => [
    `f${j}`,
    Array.from({ length: days }, () => random.normal()),
  ]);
  return JSON.stringify(Object.fromEntries(columns));
}

function randomWalk(seed: number, days: number): number[] {
  const random = seededRandom(1_000 + seed);
  let price = 100;
  return Array.from({ length: days }, () => {
    price *= Math.exp(0.01 * random.normal());
    return price;
  });
}
