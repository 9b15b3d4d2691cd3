import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { parseDay } from "../../src/contract/market/dates.ts";
import { preparePrices } from "../../src/prepare/prepare-prices.ts";
import type { BlobPair } from "../../test/end-to-end/jobs/job-runs.ts";
import { plantedMarket, pricesOf, writePlantedBlobs } from "../planted/planted-signals.ts";

const PRICES = fileURLToPath(new URL("../../test/cases/sp500-20/prices.csv.gz", import.meta.url));

/** Training from START to the first date; score rows from there to the second. */
const START = "2005-01-01";
const WINDOWS = [
  ["2007-12-31", "2009-12-31"],
  ["2012-12-31", "2014-12-31"],
  ["2018-12-31", "2022-12-28"],
] as const;

const SEEDS = [1, 2, 3, 4, 5];

/** Writes the blobs of a market's jobs below a folder. */
type WriteMarket = (folder: string) => Promise<readonly BlobPair[]>;

export const MARKETS = {
  demo: (folder) => windowsOf(PRICES, folder),
  weekly: (folder) => {
    const csvPath = join(folder, "weekly.csv");
    writeFileSync(csvPath, weeklyPrices(gunzipSync(readFileSync(PRICES)).toString("utf8")));
    return windowsOf(csvPath, folder);
  },
  noise: (folder) => inTurn(SEEDS, (seed) => randomWalks(seed, folder)),
  linear: async (folder) =>
    SEEDS.map((seed) => {
      const own = join(folder, `seed-${seed}`);
      return pairOf(own, writePlantedBlobs([plantedMarket("linear", seed)], join(own, "data")));
    }),
} satisfies Record<string, WriteMarket>;

export type MarketName = keyof typeof MARKETS;

function windowsOf(csvPath: string, folder: string): Promise<readonly BlobPair[]> {
  return inTurn(WINDOWS, async ([learningEnd, end]) => {
    const own = join(folder, learningEnd);
    return pairOf(
      own,
      await preparePrices({ csvPath, outFolder: own, options: { start: START, learningEnd, end } }),
    );
  });
}

/** The header and the last line of each week, from Monday to Sunday, of a CSV whose lines start with their date. */
function weeklyPrices(csv: string): string {
  const [header, ...lines] = csv.trimEnd().split("\n");
  // 1970-01-01 was a Thursday.
  const weekOf = (line: string) => Math.floor((parseDay(line.slice(0, 10))! + 3) / 7);
  const last = lines.filter((line, i) => i + 1 === lines.length || weekOf(line) !== weekOf(lines[i + 1]!));
  return [header, ...last, ""].join("\n");
}

/** Prices whose returns are independent normals, with the features that `prepare` makes from them. */
async function randomWalks(seed: number, folder: string): Promise<BlobPair> {
  const { tickers, dates, returns, learningEnd } = plantedMarket("null", seed);
  const own = join(folder, `seed-${seed}`);
  mkdirSync(own, { recursive: true });
  const prices = returns.map(pricesOf);
  const lines = dates.map((date, day) => [date, ...prices.map((values) => values[day])].join(","));
  const csvPath = join(own, "prices.csv");
  writeFileSync(csvPath, [["date", ...tickers].join(","), ...lines, ""].join("\n"));
  return pairOf(own, await preparePrices({ csvPath, outFolder: own, options: { learningEnd } }));
}

function pairOf(
  folder: string,
  { featurePath, dataExtractorPath }: { readonly featurePath: string; readonly dataExtractorPath: string },
): BlobPair {
  return { folder, features: featurePath, prices: dataExtractorPath };
}

async function inTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}
