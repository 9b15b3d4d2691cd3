/**
 * How much of a forecast on real prices comes from the seed: every option with all defaults on the demo's prices, once per seed. Usage:
 * node bench/networks/seed-table.ts [--options lstm,mlp] [--seeds 5] [--holdouts demo] [--workers 2]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { table } from "../../src/cli/terminal/output-table.ts";
import { deviation, mean } from "../../src/evaluate/statistics.ts";
import type { ModelledTicker } from "../../src/jobs/shared/modelled-ticker.ts";
import { preparePrices } from "../../src/prepare/prepare-prices.ts";
import { OPTIONS } from "../planted/planted-minima.ts";
import type { Table } from "../table.ts";
import { type ForecastQuality, type SeedFigures, seedFigures } from "./seed-figures.ts";
import { withEngine } from "./shared-engine.ts";

const PRICES = "test/cases/sp500-20/prices.csv.gz";
const ALPHA = 0.1;

/** The training cut-off and the end of the score rows; no test and no default was chosen with the last two. */
const HOLDOUTS = {
  demo: { learningEnd: "2018-12-31", end: undefined },
  "2011-2012": { learningEnd: "2010-12-31", end: "2012-12-31" },
  "2016-2017": { learningEnd: "2015-12-31", end: "2017-12-31" },
} as const;
type Holdout = keyof typeof HOLDOUTS;
const isHoldout = (name: string): name is Holdout => Object.hasOwn(HOLDOUTS, name);
const ALL_HOLDOUTS = Object.keys(HOLDOUTS).filter(isHoldout);

interface BenchSettings {
  readonly options: readonly string[];
  readonly seeds: number;
  readonly holdouts: readonly Holdout[];
  readonly workers: number;
}

const ALL: BenchSettings = { options: OPTIONS, seeds: 5, holdouts: ALL_HOLDOUTS, workers: 2 };

/** Takes about ten minutes per holdout on two idle cores. */
export async function benchSeeds(asked: BenchSettings = ALL): Promise<readonly Table[]> {
  const tables: Table[] = [];
  for (const holdout of asked.holdouts) tables.push(await tableOf(holdout, asked));
  return tables;
}

async function tableOf(holdout: Holdout, { options, seeds, workers }: BenchSettings): Promise<Table> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-seeds-"));
  try {
    const window = { start: "2005-01-01", ...HOLDOUTS[holdout] };
    const blobs = await preparePrices({ csvPath: PRICES, outFolder: folder, options: window });
    const rows: string[][] = [];
    let level = Number.NaN;
    await withEngine(workers, ["torch"], async (train) => {
      for (const option of options) {
        const runs: (readonly ModelledTicker[])[] = [];
        for (let seed = 1; seed <= seeds; seed++) {
          const { fits } = await train({ ...blobs, config: configOf(option, seed), workers });
          runs.push(fits.tickers);
        }
        level = levelOfLabels(runs[0]!);
        const row = rowOf(option, seedFigures(runs, ALPHA), seeds);
        process.stderr.write(`${holdout}: ${row.join(", ")}\n`);
        rows.push(row);
      }
    });
    const labels = `fit labels' level ${level.toFixed(3)}`;
    return {
      title: `${holdout}: ${blobs.tickers.length} tickers, ${seeds} seeds, ${labels}`,
      header: headerOf(seeds),
      rows,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function configOf(option: string, seed: number): object {
  return {
    "NN params": {
      "Dot prediction": {
        "current option": option,
        global_settings: { seed, device: "cpu" },
        intervals: { alpha: ALPHA },
      },
    },
  };
}

/** Mean over the tickers of mean / deviation of the fit labels. */
function levelOfLabels(tickers: readonly ModelledTicker[]): number {
  return mean(Float64Array.from(tickers, ({ fitLabels }) => mean(fitLabels) / deviation(fitLabels)));
}

function headerOf(seeds: number): string[] {
  return [
    ...["", "correlation", `of means of ${seeds}`, "level"],
    ...["equal-weight r2_zero", `of the mean of ${seeds}`, "r2_zero", `of the mean of ${seeds}`],
    ...["IC", `of the mean of ${seeds}`, "coverage", `of the mean of ${seeds}`],
  ];
}

function rowOf(option: string, figures: SeedFigures, seeds: number): string[] {
  const { correlation, correlationOf, levels, one, together } = figures;
  const both = (figure: (worth: ForecastQuality) => number, digits: number) =>
    [one, together].map((worth) => figure(worth).toFixed(digits));
  return [
    option,
    correlation.toFixed(2),
    correlationOf(seeds).toFixed(2),
    `${Math.min(...levels).toFixed(3)} to ${Math.max(...levels).toFixed(3)}`,
    ...both(({ equalWeight }) => equalWeight, 4),
    ...both(({ pooled }) => pooled, 4),
    ...both(({ ic }) => ic, 3),
    ...both(({ coverage }) => coverage, 3),
  ];
}

function holdoutNamed(name: string): Holdout {
  if (isHoldout(name)) return name;
  throw new Error(`--holdouts: there is no ${JSON.stringify(name)}; take some of ${ALL_HOLDOUTS.join(", ")}`);
}

if (import.meta.main) {
  const text = { type: "string" } as const;
  const { values } = parseArgs({ options: { options: text, seeds: text, holdouts: text, workers: text } });
  const holdouts = values.holdouts?.split(",").map(holdoutNamed) ?? ALL.holdouts;
  for (const { title, header, rows } of await benchSeeds({
    options: values.options?.split(",") ?? ALL.options,
    seeds: Number(values.seeds ?? ALL.seeds),
    holdouts,
    workers: Number(values.workers ?? ALL.workers),
  }))
    process.stdout.write(`${title}\n\n${table(header, rows)}\n\n`);
}
