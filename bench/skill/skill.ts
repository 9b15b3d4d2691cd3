import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Day, formatDay, parseDay } from "../../src/contract/market/dates.ts";
import { MAX_GAP_DAYS } from "../../src/contract/market/ticker-series.ts";
import { preparePrices } from "../../src/prepare/prepare-prices.ts";
import { BenchError, type Table } from "../bench.ts";
import { type ForecastFile, type JudgedTicker, judgedRows } from "./judged-rows.ts";
import { runRow, type SkillRun } from "./run-row.ts";
import { ScoredRows } from "./scored-rows.ts";
import { type SkillOptions, skillOptions } from "./skill-options.ts";
import { differenceTable, skillTables } from "./skill-tables.ts";

/**
 * How good our forecasts and those of peers are on the caller's prices, on the features of `mucast prepare`, judged on the same rows after
 * the cut. Minutes for 200 tickers; networks and refits take longer. With `--out`, an interrupted run continues where it was.
 * @throws BenchError for invalid arguments; MucastError for prices that cannot be read, and for a failed job.
 */
export async function benchSkill(args: readonly string[]): Promise<readonly Table[]> {
  const options = skillOptions(args);
  const folder = mkdtempSync(join(tmpdir(), "mucast-skill-"));
  try {
    const run = await preparedRun(folder, options);
    const scored = await scoredRows(run, options);
    const { rows, comparisons } = scored;
    return [...skillTables(rows, options), ...(comparisons.length > 0 ? [differenceTable(comparisons)] : [])];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function preparedRun(folder: string, options: SkillOptions): Promise<SkillRun> {
  const { prices, cut, until, delay, cores, out } = options;
  const prepared = await preparePrices({
    csvPath: prices,
    outFolder: folder,
    // The label of the last judged row is known after it. Models would be refitted for later rows, but nothing would judge them.
    options: { learningEnd: cut, end: until && formatDay(parseDay(until)! + (1 + delay) * MAX_GAP_DAYS) },
    report: (sentence) => process.stderr.write(`${sentence}\n`),
  });
  return {
    folder,
    forecastFolder: out === undefined ? folder : `${out}.forecasts`,
    id: prepared.id,
    features: prepared.featurePath,
    prices: prepared.dataExtractorPath,
    cut,
    delay,
    cores,
  };
}

async function scoredRows(run: SkillRun, options: SkillOptions): Promise<ScoredRows> {
  const judged = judgedOf(run, options);
  const scored = new ScoredRows(judged, options.delay);
  for (const row of options.rows) {
    const file = JSON.parse(readFileSync(await runRow(run, row), "utf8")) as ForecastFile;
    scored.add(row, file);
    process.stderr.write(`${row.name}: ${file.seconds.toFixed(1)} s\n`);
    writeResults(scored, options);
  }
  if (scored.lacking > 0)
    process.stderr.write(`${scored.lacking} rows lack a forecast of some row of the table\n`);
  return scored;
}

function judgedOf({ prices }: SkillRun, { cut, until, delay }: SkillOptions): JudgedTicker[] {
  const last: Day = until === undefined ? Number.POSITIVE_INFINITY : parseDay(until)!;
  const judged = judgedRows(prices, parseDay(cut)!, last, delay);
  if (judged.length === 0) throw new BenchError(`--cut: no ticker has labels both before and after ${cut}`);
  return judged;
}

/** Written after each row, and renamed, so that an interrupted bench leaves complete results. */
function writeResults(scored: ScoredRows, { cut, until, delay, cores, out }: SkillOptions): void {
  if (out === undefined) return;
  const { rows, comparisons } = scored;
  const results = { cut, until: until ?? null, delay, cores, rows, comparisons };
  writeFileSync(`${out}.part`, `${JSON.stringify(results, null, 2)}\n`);
  renameSync(`${out}.part`, out);
}
