import type { Table } from "../table.ts";
import { cleanMarket, type Market } from "./clean-markets.ts";
import { foresightOf } from "./examined-market.ts";
import { FAULTS, type FaultName, plant } from "./planted-faults.ts";

const CLEAN_MARKETS = 200;
const CLEAN_SIZE = { tickers: 10, days: 750 };

/** Rows of the planted markets: years of 250. */
const SIZES = [250, 500, 1_000, 2_000];
const PLANTED_MARKETS = 4;
const PLANTED_IN = ["mom_5", "vol_21", "sma_gap_50", "rel_1", "rsi_14"];

/** False findings on clean markets, and at which size planted faults are found. */
export async function benchAudit(): Promise<readonly Table[]> {
  return [falseFindings(), plantedFaults()];
}

function falseFindings(): Table {
  let [markets, pairs, tests] = [0, 0, 0];
  const codes = new Map<string, number>();
  for (let seed = 1; seed <= CLEAN_MARKETS; seed++) {
    const market = cleanMarket(seed, CLEAN_SIZE);
    const { findings, suspects } = foresightOf(market);
    if (findings.length > 0) markets++;
    for (const { code } of findings) codes.set(code, (codes.get(code) ?? 0) + 1);
    pairs += market.features.reduce((sum, { columns }) => sum + columns.length, 0);
    tests += suspects.tests;
  }
  const found = [...codes].map(([code, count]) => `${count} ${code}`).join(", ");
  return {
    title: `foresight on clean random markets of ${CLEAN_SIZE.tickers} tickers and ${CLEAN_SIZE.days} dates`,
    header: ["markets", "with a finding", "features of tickers", "tests", "findings"],
    rows: [[String(CLEAN_MARKETS), String(markets), String(pairs), String(tests), found || "none"]],
  };
}

/** The ticker with the fault is one of 20; its share of all tests is counted, the clean ones are not computed again. */
function plantedFaults(): Table {
  const header = ["fault in 1 of 26 features on 1 of 20 tickers", ...SIZES.map((days) => `${days} dates`)];
  const bySize = SIZES.map((days) =>
    Array.from({ length: PLANTED_MARKETS }, (_, seed) => cleanMarket(1_000 + seed, { tickers: 3, days })),
  );
  const rows = (Object.keys(FAULTS) as FaultName[]).map((fault) => [
    fault,
    ...bySize.map((markets) => `${foundShare(fault, markets)}`),
  ]);
  return {
    title: `foresight: planted faults, found of ${PLANTED_MARKETS * PLANTED_IN.length}`,
    header,
    rows,
  };
}

function foundShare(fault: FaultName, markets: readonly Market[]): number {
  const places = PLANTED_IN.map((feature) => ({ ticker: "S01", feature }));
  return markets
    .flatMap((market) => places.map((place) => alone(plant(market, fault, place))))
    .filter(({ findings }) => findings.length > 0).length;
}

function alone({ prices, features }: Market) {
  return foresightOf({ prices: prices.slice(1, 2), features: features.slice(1, 2) }, 20);
}
