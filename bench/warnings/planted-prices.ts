import { fileURLToPath } from "node:url";
import { suspiciousPrices } from "../../src/contract/market/suspicious-prices.ts";
import { readPriceFile } from "../../src/prepare/input-files.ts";
import { seededRandom } from "../../test/twins/random.ts";
import type { Table } from "../table.ts";

const PRICES = fileURLToPath(new URL("../../examples/sp500-200/prices.csv.gz", import.meta.url));
const PLANTS = 5;

/** The factor of the price, `after` dates after the fault began. */
const FAULTS: Readonly<Record<string, (after: number) => number>> = {
  none: () => 1,
  "3:2": () => 2 / 3,
  "2:1": () => 1 / 2,
  "1:2": () => 2,
  "3:1": () => 1 / 3,
  "7:1": () => 1 / 7,
  "1.5 times, one date": (after) => (after === 0 ? 1.5 : 1),
  "2 times, one date": (after) => (after === 0 ? 2 : 1),
  "1/100, three dates": (after) => (after < 3 ? 1 / 100 : 1),
};

/** The share of the example's tickers with `suspicious_price`, with one fault at random dates. Takes seconds. */
export async function plantedPricesTable(): Promise<Table> {
  const { tickers } = await readPriceFile(PRICES);
  const random = seededRandom(1);
  const rows = Object.entries(FAULTS).map(([fault, factor]) => {
    const found = tickers.flatMap(({ days, prices }) =>
      Array.from({ length: PLANTS }, () => {
        const at = 1 + Math.floor(random.uniform() * (prices.length - 4));
        const planted = prices.map((price, i) => (i < at ? price : price * factor(i - at)));
        return suspiciousPrices(days, planted) === undefined ? 0 : 1;
      }),
    );
    const share = found.reduce<number>((sum, one) => sum + one, 0) / found.length;
    return [fault, `${(100 * share).toFixed(1)} %`];
  });
  return { title: "tickers with suspicious_price", header: ["fault", "found"], rows };
}
