import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EXAMPLE_CONFIGS } from "../../src/contract/config/example-configs.ts";
import { preparePrices } from "../../src/prepare/prepare-prices.ts";
import { type BlobPair, runJob } from "../../test/end-to-end/jobs/job-runs.ts";
import { closeSharedEngines } from "../../test/end-to-end/jobs/shared-engines.ts";
import { type Random, seededRandom } from "../../test/twins/random.ts";
import type { Table } from "../table.ts";

const MARKETS = 200;
const TICKERS = 40;
const DATES = 900;
const LEARNED = 600;

/** The examples of run_ml_job without refits. */
const CONFIGS: ReadonlySet<string> = new Set(["pooled-lightgbm", "pooled-ridge", "ridge"]);

/** Fewer rows than the configs are made for: proportionally smaller leaves, and a quarter of the trees. */
const SMALLER: Readonly<Record<string, object>> = {
  "pooled-lightgbm": { n_estimators: 100, learning_rate: 0.08, min_child_samples: 100 },
};

/**
 * How often the example configs of run_ml_job find skill in markets without skill: fat-tailed returns with a common part and volatility
 * that changes over time and between tickers, and the features of `prepare`. Takes about ten minutes on two cores.
 */
export async function panelNoiseTable(): Promise<Table> {
  const names = EXAMPLE_CONFIGS.map(({ name }) => name).filter((name) => CONFIGS.has(name));
  const found = new Map(names.map((name) => [name, { skill: 0, order: 0, sizes: 0 }]));
  const folder = mkdtempSync(join(tmpdir(), "mucast-noise-"));
  try {
    for (let seed = 1; seed <= MARKETS; seed++) {
      const blobs = await writeNoise(seed, join(folder, `${seed}`));
      for (const name of names) count(found.get(name)!, (await runJob(blobs, configOf(name), 2)).output);
      rmSync(blobs.folder, { recursive: true });
      process.stderr.write(`market ${seed} of ${MARKETS}\n`);
    }
  } finally {
    await closeSharedEngines();
    rmSync(folder, { recursive: true });
  }
  const percent = (part: number) => `${((100 * part) / MARKETS).toFixed(1)} %`;
  return {
    title: `example configs on ${MARKETS} markets without skill, ${TICKERS} tickers, ${DATES - LEARNED} score dates`,
    header: ["", "verdict of skill", "order", "sizes"],
    rows: [...found].map(([name, { skill, order, sizes }]) => [
      name,
      percent(skill),
      percent(order),
      percent(sizes),
    ]),
  };
}

function configOf(name: string): string {
  const config = structuredClone(EXAMPLE_CONFIGS.find((example) => example.name === name)!.config) as {
    "ML params": { model_params: object };
  };
  Object.assign(config["ML params"].model_params, SMALLER[name]);
  return JSON.stringify(config);
}

function count(
  into: { skill: number; order: number; sizes: number },
  { verdict }: Awaited<ReturnType<typeof runJob>>["output"],
): void {
  const judged = verdict!.judged.find(({ rows }) => rows === verdict!.rows)!;
  if (["skill", "oversized"].includes(verdict!.state)) into.skill++;
  if (judged.order.state === "evidence") into.order++;
  if (judged.sizes.state === "evidence") into.sizes++;
}

async function writeNoise(seed: number, folder: string): Promise<BlobPair> {
  const random = seededRandom(seed);
  const market = volatileReturns(random, 0.008);
  const prices = Array.from({ length: TICKERS }, () => {
    const own = volatileReturns(random, 0.01 + 0.01 * random.uniform());
    let price = 100;
    return own.map((value, day) => (price *= Math.exp(value + market[day]!)));
  });
  const tickers = prices.map((_, i) => `T${i}`);
  const dates = Array.from({ length: DATES }, (_, day) =>
    new Date(86_400_000 * (12_000 + day)).toISOString().slice(0, 10),
  );
  const lines = dates.map((date, day) => [date, ...prices.map((values) => values[day])].join(","));
  mkdirSync(folder, { recursive: true });
  const csvPath = join(folder, "prices.csv");
  writeFileSync(csvPath, [["date", ...tickers].join(","), ...lines, ""].join("\n"));
  const options = { learningEnd: dates[LEARNED - 1]! };
  const { featurePath, dataExtractorPath } = await preparePrices({ csvPath, outFolder: folder, options });
  return { folder, features: featurePath, prices: dataExtractorPath };
}

/** Normal returns whose variance follows a GARCH(1, 1). @param size their standard deviation over all dates. */
function volatileReturns(random: Random, size: number): Float64Array {
  let variance = size ** 2;
  let last = 0;
  return Float64Array.from({ length: DATES }, () => {
    variance = 0.05 * size ** 2 + 0.1 * last ** 2 + 0.85 * variance;
    last = Math.sqrt(variance) * random.normal();
    return last;
  });
}
