/** Runs made-up configs as jobs: the checks of the config, the blobs, the trial fit, the columns, the fits, the output. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { OutputBlob } from "../../src/contract/output/output-blob.ts";
import { runMlJob } from "../../src/jobs/run-job.ts";
import { type Cell, featureBlob, type Market, priceBlob, weekdays } from "../end-to-end/markets/market.ts";
import { Seeded } from "../end-to-end/markets/seeded.ts";
import { caseOf, type FuzzCase } from "./model-params-cases.ts";
import { WatchedEngine, type WorkEffects } from "./watched-engine.ts";

/** Runs the cases of `numbers`, in `lanes` engines in parallel. @param tell receives every case with its effects. */
export async function fuzzJobs(
  seed: number,
  numbers: Iterable<number>,
  lanes: number,
  tell: (of: FuzzCase, watched: WorkEffects) => void = () => undefined,
) {
  const blobs = mkdtempSync(join(tmpdir(), "mucast-fuzz-blobs-"));
  const outcomes = new Map<string, number>();
  const findings: { readonly of: FuzzCase; readonly watched: WorkEffects }[] = [];
  const waiting = numbers[Symbol.iterator]();
  const engines = Array.from({ length: lanes }, () => new WatchedEngine());
  const { seesSockets } = engines[0]!;
  writeFileSync(join(blobs, "features.json"), featureBlob(fuzzMarket()));
  writeFileSync(join(blobs, "prices.json"), priceBlob(fuzzMarket()));
  const work = async (engine: WatchedEngine) => {
    for (let next = waiting.next(); !next.done; next = waiting.next()) {
      const of = caseOf(seed, next.value);
      const watched = await engine.watch((signal) => runCase(of, blobs, engine, signal));
      outcomes.set(watched.outcome, (outcomes.get(watched.outcome) ?? 0) + 1);
      if (watched.findings.length > 0) findings.push({ of, watched });
      tell(of, watched);
    }
  };
  try {
    await Promise.all(engines.map(work));
  } finally {
    await Promise.all(engines.map((engine) => engine.close()));
    rmSync(blobs, { recursive: true });
  }
  return { outcomes, findings, seesSockets };
}

/** @returns `succeeded`, with the codes of the tickers that failed. */
async function runCase(
  { config, number }: FuzzCase,
  blobs: string,
  engine: WatchedEngine,
  signal: AbortSignal,
): Promise<string> {
  const workFolder = join(engine.workFolder, "job");
  const record = await runMlJob(
    {
      featureUrl: join(blobs, "features.json"),
      dataExtractorUrl: join(blobs, "prices.json"),
      blobUrl: join(blobs, "outputs"),
      config,
      id: `case-${number}`,
    },
    {
      workers: 1,
      policy: { allowed: [] },
      report: () => undefined,
      signal,
      openEngine: () => {
        mkdirSync(workFolder);
        return { pool: engine.pool, workFolder, close: async () => rmSync(workFolder, { recursive: true }) };
      },
    },
  );
  const path = fileURLToPath(record.output_url);
  const { failures } = JSON.parse(readFileSync(path, "utf8")) as OutputBlob;
  rmSync(path);
  return [...new Set(["succeeded", ...failures.map(({ code }) => code)])].join(" ");
}

/** Data for which libraries have their own branches: a constant, few distinct whole numbers, a large range, ties. */
const COLUMNS: Readonly<Record<string, (random: Seeded, row: number) => Cell>> = {
  normal: (random) => random.normal(),
  constant: () => 1,
  category: (_, row) => row % 3,
  wide: (random) => 1e9 * random.uniform(),
  lacking: (random) => random.normal(),
};

/** Two tickers over 70 dates, one of which lacks a feature. */
function fuzzMarket(): Market {
  const random = new Seeded(7);
  const dates = weekdays(70);
  const prices = new Map<string, Cell[]>();
  const features = new Map<string, Map<string, Cell[]>>();
  for (const ticker of ["FIVE", "FOUR"]) {
    const columns = Object.entries(COLUMNS).map(([name, cell]): [string, Cell[]] => [
      name,
      dates.map((_, row) => (name === "lacking" && ticker === "FOUR" ? null : cell(random, row))),
    ]);
    features.set(ticker, new Map(columns));
    prices.set(
      ticker,
      dates.map((_, row) => 50 + 10 * Math.sin(row) + random.normal()),
    );
  }
  const bounds = { start: dates[0]!, end: dates.at(-1)!, Learning_end: null };
  return { bounds, priceDates: dates, prices, featureDates: dates, features };
}
