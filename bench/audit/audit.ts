import type { Finding } from "../../src/audit/check.ts";
import type { Table } from "../bench.ts";
import {
  cleanDays,
  FIRST_SEED,
  type Market,
  type TwoDays,
  withGaps,
  withLaterStart,
} from "./clean-markets.ts";
import { foresightOf, restatementOf } from "./examined-market.ts";
import { type BlobFault, FAULTS, isOf } from "./planted-faults.ts";
import { falseFindingsOfJobs, plantedInJobs, shareText } from "./planted-jobs.ts";
import { plantedIn, sharedFaults, skilledFeatures } from "./shared-faults.ts";
import { thinMarkets } from "./thin-markets.ts";

const CLEAN_MARKETS = 200;
const CLEAN_SIZE = { tickers: 10, days: 750 };
const CLEAN_JOBS = { markets: 5, days: 500 };

/** The number of rows of the planted markets: years of 250. */
const SIZES = [250, 500, 1_000, 2_000];
const PLANTED_MARKETS = 20;

/** False findings on clean markets, and the size at which planted faults are found. */
export async function benchAudit(): Promise<readonly Table[]> {
  return [await falseFindings(), thinMarkets(), skilledFeatures(), sharedFaults(), await plantedFaults()];
}

async function falseFindings(): Promise<Table> {
  const found = { foresight: 0, restatement: 0 };
  let [either, tests, values] = [0, 0, 0];
  const codes = new Map<string, number>();
  for (let seed = 1; seed <= CLEAN_MARKETS; seed++) {
    const days = cleanKind(FIRST_SEED + seed);
    const { findings, tests: made } = foresightOf(days.today);
    const restated = restatementOf(days);
    if (findings.length > 0) found.foresight++;
    if (restated.length > 0) found.restatement++;
    if (findings.length + restated.length > 0) either++;
    for (const { code } of [...findings, ...restated]) codes.set(code, (codes.get(code) ?? 0) + 1);
    tests += made;
    values += days.earlier.features.reduce((sum, one) => sum + one.values.length, 0);
  }
  const size = `${CLEAN_SIZE.tickers} tickers, ${CLEAN_SIZE.days} dates`;
  const row = (checks: string, markets: number, count: number) => [
    size,
    checks,
    String(CLEAN_MARKETS),
    String(markets),
    String(count),
  ];
  const told = [...codes].map(([code, count]) => `${count} ${code}`).join(", ") || "none";
  return {
    title: `clean random markets; findings: ${told}`,
    header: ["size", "checks", "markets", "with a finding", "tests or values"],
    rows: [
      row("foresight", found.foresight, tests),
      row("restatement", found.restatement, values),
      row("either", either, tests + values),
      await falseFindingsOfJobs(CLEAN_JOBS.markets, CLEAN_JOBS.days),
    ],
  };
}

/** A third of the markets has dates without a price, another third a window that moved. */
function cleanKind(seed: number): TwoDays {
  const days = cleanDays(seed, CLEAN_SIZE);
  if (seed % 3 === 1) return withGaps(days, seed);
  return seed % 3 === 2 ? withLaterStart(days) : days;
}

async function plantedFaults(): Promise<Table> {
  const bySize = SIZES.map((days) =>
    Array.from({ length: PLANTED_MARKETS }, (_, seed) =>
      cleanDays(FIRST_SEED + 1_000 + seed, { tickers: 3, days }),
    ),
  );
  const rows = Object.entries<BlobFault>(FAULTS).map(([name, fault]) => [
    name,
    fault.check,
    fault.codes.join(", ") + (fault.or === undefined ? "" : `, or ${fault.or}`),
    ...bySize.map((markets) => foundShare(fault, markets)),
  ]);
  return {
    title: `planted faults, found; those of blobs in 1 of 26 features of 1 of 20 tickers`,
    header: ["fault", "check", "found as", ...SIZES.map((days) => `${days} dates`)],
    rows: [...rows, ...(await plantedInJobs(SIZES))],
  };
}

function foundShare(fault: BlobFault, markets: readonly TwoDays[]): string {
  let [found, others] = [0, 0];
  for (const [k, days] of markets.entries()) {
    const place = { ticker: "S01", feature: plantedIn(k) };
    const told = findingsOf(fault, fault.plant(days, place));
    if (told.some((one) => isOf(fault, place, one))) found++;
    if (told.some((one) => !isOf(fault, place, one))) others++;
  }
  return shareText(found, markets.length, others);
}

/** What the check for a fault finds. For foresight, the ticker with the fault is one of 20: the clean ones are not recomputed. */
function findingsOf({ check }: BlobFault, days: TwoDays): readonly Finding[] {
  return check === "restatement" ? restatementOf(days) : foresightOf(alone(days.today), 20).findings;
}

function alone({ prices, features }: Market): Market {
  return { prices: prices.slice(1, 2), features: features.slice(1, 2) };
}
