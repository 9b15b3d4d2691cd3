/** What a report costs: bytes of the page, and processor time compared with reading the same output, each in a separate process. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { mlText } from "../../src/outputs/outputs.testing.ts";
import type { Table } from "../table.ts";

const run = promisify(execFile);
const CHILD = fileURLToPath(new URL("./report-child.ts", import.meta.url));
const RUNS = 3;

/** Score rows of each ticker, and the limits of a page of them. */
const SIZES = [
  { tickers: 20, days: 1_007, mostBytes: 600e3, mostSeconds: 1 },
  { tickers: 500, days: 1_500, mostBytes: 4e6, mostSeconds: 4 },
] as const;

export async function benchReport(): Promise<readonly Table[]> {
  const rows: string[][] = [];
  for (const size of SIZES) rows.push(await measured(size));
  return [
    {
      title: `The report of an output with intervals, processor time, best of ${RUNS}`,
      header: [
        "tickers x days",
        "output MB",
        "page KB",
        "limit KB",
        "report s",
        "limit s",
        "JSON.parse s",
        "times",
      ],
      rows,
    },
  ];
}

async function measured({
  tickers,
  days,
  mostBytes,
  mostSeconds,
}: (typeof SIZES)[number]): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-bench-"));
  try {
    const output = join(folder, "ml_engine_1.json");
    const page = join(folder, "report.html");
    const names = Array.from({ length: tickers }, (_, i) => `T${String(i).padStart(3, "0")}`);
    writeFileSync(output, mlText({ tickers: names, scoreRows: days, config: { intervals: {} } }));
    const read = await bestOf("read", output, page);
    const report = await bestOf("report", output, page);
    return [
      `${tickers} x ${days.toLocaleString("en")}`,
      (statSync(output).size / 1e6).toFixed(1),
      (statSync(page).size / 1e3).toFixed(0),
      (mostBytes / 1e3).toFixed(0),
      report.toFixed(2),
      mostSeconds.toFixed(0),
      read.toFixed(3),
      (report / read).toFixed(1),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Seconds. */
async function bestOf(work: "read" | "report", output: string, page: string): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < RUNS; i++) {
    const { stdout } = await run(process.execPath, [CHILD, work, output, page]);
    best = Math.min(best, (JSON.parse(stdout) as { readonly seconds: number }).seconds);
  }
  return best;
}
