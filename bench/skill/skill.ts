import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Day, parseDay } from "../../src/contract/market/dates.ts";
import { preparePrices } from "../../src/prepare/prepare-prices.ts";
import type { Table } from "../table.ts";
import { commonRows, forecastRows, readForecasts } from "./forecast-file.ts";
import { judgedRows } from "./judged-rows.ts";
import { runRow, type SkillRun, writePeerPanel } from "./run-row.ts";
import { COSTS_BP, type Score, scoreForecasts } from "./score-forecasts.ts";
import { DEFAULT_ROWS, rowsNamed, type SkillRow } from "./skill-rows.ts";

const USAGE =
  "usage: npm run bench -- skill --prices FILE --cut DATE [--until DATE] [--rows NAME,NAME] [--cores N] [--out FILE]";

interface SkillOptions {
  readonly prices: string;
  readonly cut: string;
  readonly until: string | undefined;
  readonly rows: readonly SkillRow[];
  readonly cores: number;
  readonly out: string | undefined;
}

/** A row of the table as `--out` writes it. */
interface ScoredRow extends Score {
  readonly name: string;
  readonly what: string;
  readonly by: SkillRow["by"];
  readonly seconds: number;
}

/**
 * What forecasts of ours and of peers are worth on prices of the caller's: one fit at the cut each, on the features of `mucast prepare`,
 * judged on the same rows after it. Minutes for 200 tickers; networks take longer.
 */
export async function benchSkill(args: readonly string[]): Promise<readonly Table[]> {
  const options = optionsOf(args);
  const folder = mkdtempSync(join(tmpdir(), "mucast-skill-"));
  try {
    const run = await preparedRun(folder, options);
    const scored = await scoredRows(run, options);
    if (options.out !== undefined) {
      const { cut, until, cores } = options;
      writeFileSync(
        options.out,
        `${JSON.stringify({ cut, until: until ?? null, cores, rows: scored }, null, 2)}\n`,
      );
    }
    return [skillTable(scored, options)];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function optionsOf(args: readonly string[]): SkillOptions {
  const text = { type: "string" } as const;
  const options = { prices: text, cut: text, until: text, rows: text, cores: text, out: text };
  const { prices, cut, until, rows, cores, out } = parseArgs({ args: [...args], options }).values;
  if (prices === undefined || cut === undefined) throw new Error(USAGE);
  for (const date of [cut, until ?? cut]) {
    if (parseDay(date) === undefined) throw new Error(`${JSON.stringify(date)} is not a date\n${USAGE}`);
  }
  if (cores !== undefined && !/^[1-9]\d*$/.test(cores)) {
    throw new Error(`--cores takes a positive integer, not ${JSON.stringify(cores)}\n${USAGE}`);
  }
  return {
    prices,
    cut,
    until,
    rows: rows === undefined ? DEFAULT_ROWS : rowsNamed(rows.split(",")),
    cores: Number(cores ?? availableParallelism()),
    out,
  };
}

async function preparedRun(folder: string, { prices, cut, cores }: SkillOptions): Promise<SkillRun> {
  const prepared = await preparePrices({
    csvPath: prices,
    outFolder: folder,
    options: { learningEnd: cut },
    report: (sentence) => process.stderr.write(`${sentence}\n`),
  });
  return { folder, features: prepared.featurePath, prices: prepared.dataExtractorPath, cut, cores };
}

async function scoredRows(run: SkillRun, { rows, until }: SkillOptions): Promise<ScoredRow[]> {
  if (rows.some(({ by }) => by === "peer")) writePeerPanel(run);
  const read: ReturnType<typeof readForecasts>[] = [];
  for (const row of rows) {
    read.push(readForecasts(await runRow(run, row)));
    process.stderr.write(`${row.name}: ${read.at(-1)!.seconds.toFixed(1)} s\n`);
  }
  const last: Day = until === undefined ? Number.POSITIVE_INFINITY : parseDay(until)!;
  const judged = judgedRows(run.prices, parseDay(run.cut)!, last);
  const common = commonRows(
    judged,
    read.map(({ forecasts }) => forecasts),
  );
  const [all, kept] = [judged, common].map((tickers) => tickers.reduce((n, { days }) => n + days.length, 0));
  if (all !== kept)
    process.stderr.write(`${all! - kept!} of ${all} rows lack a forecast of some row of the table\n`);
  return rows.map((row, i) => ({
    name: row.name,
    what: row.what,
    by: row.by,
    ...scoreForecasts(forecastRows(common, read[i]!.forecasts), row.by === "mucast" || row.isReturn),
    seconds: read[i]!.seconds,
  }));
}

function skillTable(scored: readonly ScoredRow[], { cut, until }: SkillOptions): Table {
  const [first] = scored;
  return {
    title: `trained to ${cut}, judged ${until === undefined ? "" : `until ${until} `}on ${first?.rows} rows of ${first?.dates} dates; spread: top minus bottom fifth, bp per day`,
    header: [
      "",
      "by",
      "IC (t)",
      "RankIC (t)",
      "R² zero",
      "R² mean",
      "spread (t)",
      "turnover",
      ...COSTS_BP.map((cost) => `net at ${cost} bp`),
      "seconds",
    ],
    rows: scored.map((row) => [
      row.name,
      row.by,
      withT(row.ic, row.icT, 4),
      withT(row.rankIc, row.rankIcT, 4),
      percent(row.r2Zero, 2),
      percent(row.r2Mean, 2),
      withT(row.spread, row.spreadT, 1),
      percent(row.turnover, 0),
      ...row.net.map((net) => fixed(net, 1)),
      fixed(row.seconds, 1),
    ]),
  };
}

function withT(value: number | null, t: number | null, digits: number): string {
  return `${fixed(value, digits)} (${fixed(t, 1)})`;
}

function percent(share: number | null, digits: number): string {
  return share === null ? "" : `${(100 * share).toFixed(digits)} %`;
}

function fixed(value: number | null, digits: number): string {
  return value === null ? "" : value.toFixed(digits);
}
