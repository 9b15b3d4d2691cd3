import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { OutputBlob } from "../../src/contract/output/output-blob.ts";
import { runMlJob } from "../../src/jobs/run-job.ts";
import { preparePrices } from "../../src/prepare/prepare-prices.ts";
import type { Table } from "../bench.ts";
import { SERIES, seriesIntervals } from "./simulated-series.ts";

const PRICES = fileURLToPath(new URL("../../test/cases/sp500-20/prices.csv.gz", import.meta.url));

/** Score rows from the end of learning to the end of the window: calm periods and crashes. */
const WINDOWS = [
  ["2018-12-31", "2022-12-28"],
  ["2007-12-31", "2010-12-31"],
  ["2019-12-31", "2020-12-31"],
  ["2012-12-31", "2022-12-28"],
] as const;

const MODELS = {
  ridge: { model: "ridge", scaler: "standard" },
  lightgbm: { model: "lightgbm", model_params: { n_estimators: 20, num_leaves: 7 } },
} as const;

type IntervalSettings = Readonly<Record<string, string | number>>;

/** Every model at alpha 0.1; the other alphas only with ridge. */
const RUNS: readonly (readonly [keyof typeof MODELS, IntervalSettings])[] = [
  ["ridge", { alpha: 0.1 }],
  ["lightgbm", { alpha: 0.1 }],
  ["ridge", { alpha: 0.05 }],
  ["ridge", { alpha: 0.2 }],
  ["ridge", { alpha: 0.1, bound: "lower" }],
  ["ridge", { alpha: 0.1, bound: "upper" }],
];

const HEADER = [
  "score rows",
  "model",
  "asked",
  "method",
  "pooled",
  "worst ticker",
  "worst 250",
  "high volatility",
  "score / split's",
  "half missed",
];

const TENTHS = Array.from({ length: 10 }, (_, i) => String(i + 1));

type Intervals = NonNullable<OutputBlob["metrics"]["intervals"]>;
type Evidence = Pick<Intervals, "pooled" | "by_volatility" | "joint_misses" | "by_ticker">;

/** Coverage of adaptive and split intervals on real prices and on simulated series, with 15 folds of 15. */
export async function benchIntervals(): Promise<readonly Table[]> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-intervals-"));
  try {
    const rows: string[][] = [];
    const tenths: string[][] = [];
    for (const [cut, end] of WINDOWS) {
      const blobs = await preparePrices({
        csvPath: PRICES,
        outFolder: join(folder, cut),
        options: { start: "2000-01-01", learningEnd: cut, end },
        report: () => undefined,
      });
      for (const [name, settings] of RUNS) {
        const output = await outputOf(blobs, { ...MODELS[name], intervals: settings });
        const intervals = output.metrics.intervals!;
        const head = [`${cut} to ${end}`, name, asked(settings)];
        rows.push(...rowsOf(head, intervals));
        if (asked(settings) === "0.1") tenths.push(...tenthsOf(head.slice(0, 2), intervals));
      }
    }
    return [
      { title: "Intervals on the demo's prices, 20 tickers", header: HEADER, rows },
      {
        title: "Coverage by tenths of volatility at alpha 0.1, the quietest first",
        header: ["score rows", "model", "method", ...TENTHS],
        rows: tenths,
      },
      {
        title: "Intervals on 20 simulated series each, 225 residuals, 1,000 score rows, alpha 0.1",
        header: ["series", ...HEADER.slice(3)],
        rows: Object.entries(SERIES).flatMap(([name, series]) => rowsOf([name], seriesIntervals(series))),
      },
      {
        title: "The same by tenths of volatility, the quietest first",
        header: ["series", "method", ...TENTHS],
        rows: Object.entries(SERIES).flatMap(([name, series]) => tenthsOf([name], seriesIntervals(series))),
      },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function asked({ alpha, bound = "both" }: IntervalSettings): string {
  return bound === "both" ? String(alpha) : `${alpha}, ${bound}`;
}

async function outputOf(
  blobs: { readonly featurePath: string; readonly dataExtractorPath: string },
  model: object,
): Promise<OutputBlob> {
  const config = JSON.stringify({ "ML params": { ...model, cv_test_size: 15, n_splits: 15 } });
  const record = await runMlJob(
    {
      id: randomUUID(),
      featureUrl: blobs.featurePath,
      dataExtractorUrl: blobs.dataExtractorPath,
      config,
    },
    {
      workers: 2,
      policy: { allowed: [] },
      report: () => undefined,
      signal: new AbortController().signal,
    },
  );
  return JSON.parse(readFileSync(fileURLToPath(record.output_url), "utf8"));
}

/** One row per method, the requested one first. */
function rowsOf(head: readonly string[], intervals: Evidence & Pick<Intervals, "other_methods">): string[][] {
  const { split } = intervals.other_methods!;
  return [
    [...head, "adaptive", ...cells(intervals), fixed(split!.score_ratio), together(intervals)],
    [...head, "split", ...cells(split!), "1", together(split!)],
  ];
}

/** One row per method, the requested one first. */
function tenthsOf(
  head: readonly string[],
  intervals: Evidence & Pick<Intervals, "other_methods">,
): string[][] {
  const { split } = intervals.other_methods!;
  const tenths = ({ by_volatility }: Evidence) => by_volatility!.map(({ coverage }) => fixed(coverage));
  return [
    [...head, "adaptive", ...tenths(intervals)],
    [...head, "split", ...tenths(split!)],
  ];
}

/** Dates on which at least half of the tickers missed. */
function together({ joint_misses }: Evidence): string {
  return `${joint_misses!.half_missed} / ${joint_misses!.dates}`;
}

function cells({ pooled, by_ticker }: Evidence): string[] {
  const worst = Math.min(...Object.values(by_ticker).map(({ coverage }) => coverage ?? Number.NaN));
  return [pooled.coverage, worst, pooled.worst_250, pooled.high_volatility!.coverage].map(fixed);
}

function fixed(value: number | null | undefined): string {
  return value === null || value === undefined ? "-" : value.toFixed(3);
}
