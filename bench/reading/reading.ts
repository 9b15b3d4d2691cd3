/** Reading a feature blob: speed and peak memory compared with other readers, each in a separate process. */
import { execFile } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { table } from "../../src/cli/terminal/output-table.ts";
import { formatDay } from "../../src/contract/market/dates.ts";
import { peerPython } from "../peer-python.ts";
import type { Table } from "../table.ts";
import { benchFormats } from "./formats.ts";

const run = promisify(execFile);
const CHILD = fileURLToPath(new URL("./reading-child.ts", import.meta.url));
const PEER = fileURLToPath(new URL("../peers/read_json.py", import.meta.url));

const COMPARED_BYTES = 200e6;
const LARGE_BYTES = 2e9;
const RUNS = 3;
const DAYS = 5_000;
const FEATURES = 20;
/** The number of tickers with distinct values; a larger file repeats them under other names. */
const DISTINCT = 24;

interface Reader {
  readonly name: string;
  readonly command: readonly string[];
}

interface Reading {
  readonly seconds: number;
  /** The number of values that were read: the same for all readers of a file. */
  readonly values: number;
  readonly peakBytes: number;
}

/** @returns a table of all readers on a JSON file of 200 MB, one of only mucast on 2 GB, and one of formats. Takes ten minutes. */
export async function benchReading(): Promise<readonly Table[]> {
  const ours: Reader = { name: "mucast", command: [process.execPath, CHILD, "mucast"] };
  const python = peerPython("readers");
  const readers = [
    ours,
    { name: "JSON.parse", command: [process.execPath, CHILD, "json-parse"] },
    { name: "Python json", command: [python, PEER, "json"] },
    { name: "orjson", command: [python, PEER, "orjson"] },
    { name: "pandas.read_json", command: [python, PEER, "pandas"] },
  ];
  return [
    await measure(readers, COMPARED_BYTES, RUNS),
    await measure([ours], LARGE_BYTES, 1),
    await benchFormats(),
  ];
}

async function measure(readers: readonly Reader[], leastBytes: number, runs: number): Promise<Table> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-bench-"));
  try {
    const path = join(folder, "feature_engine.json");
    const bytes = writeFeatureBlob(path, leastBytes);
    const best: [string, Reading][] = [];
    for (const { name, command } of readers) best.push([name, await bestOf(runs, command, path)]);
    const values = best[0]![1].values;
    if (best.some(([, reading]) => reading.values !== values))
      throw new Error("the readers read different numbers");
    return {
      title: `Reading a canonical feature blob of ${megabytes(bytes)} MB, best of ${runs}`,
      header: ["reader", "MB/s", "time relative to mucast", "peak MB"],
      rows: best.map(([name, { seconds, peakBytes }]) => [
        name,
        megabytes(bytes / seconds),
        (seconds / best[0]![1].seconds).toFixed(1),
        megabytes(peakBytes),
      ]),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function bestOf(runs: number, [program, ...args]: readonly string[], path: string): Promise<Reading> {
  let best: Reading | undefined;
  for (let i = 0; i < runs; i++) {
    const { stdout } = await run(program!, [...args, path]);
    const reading = JSON.parse(stdout) as Reading;
    if (best === undefined || reading.seconds < best.seconds) best = reading;
  }
  return best!;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}

/** Writes a canonical feature blob of at least `bytes` bytes, spaced like Python's. @returns its size. */
function writeFeatureBlob(path: string, bytes: number): number {
  const dates = JSON.stringify(Array.from({ length: DAYS }, (_, i) => formatDay(12_000 + i)));
  const tickers = Array.from({ length: DISTINCT }, (_, i) => Buffer.from(tickerText(i)));
  const file = openSync(path, "wx");
  try {
    let size = writeSync(file, `{"dates": ${dates}, "features": {`);
    for (let i = 0; size < bytes; i++) {
      size += writeSync(file, `${i === 0 ? "" : ", "}"T${i}": `);
      size += writeSync(file, tickers[i % DISTINCT]!);
    }
    return size + writeSync(file, "}}");
  } finally {
    closeSync(file);
  }
}

/** Returns-like values with the 15 to 18 digits that Python and JavaScript print; a fifth are rounded to 6 places. */
function tickerText(seed: number): string {
  const random = generator(seed + 1);
  const columns = Array.from({ length: FEATURES }, (_, j) => {
    const values = Array.from({ length: DAYS }, (_, i) => {
      const value = (random() + random() + random() - 1.5) * 0.03;
      if (i < j) return "null";
      return j % 5 === 4 ? String(Math.round(value * 1e6) / 1e6) : String(value);
    });
    return `"feature_${j}": [${values.join(", ")}]`;
  });
  return `{${columns.join(", ")}}`;
}

/** Uniform on [0, 1) with 53 bits: two steps of the mulberry32 generator. */
function generator(seed: number): () => number {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  };
  return () => ((next() >>> 5) * 67_108_864 + (next() >>> 6)) / 9_007_199_254_740_992;
}

if (import.meta.main) {
  for (const { title, header, rows } of await benchReading()) {
    process.stdout.write(`${title}\n\n${table(header, rows)}\n\n`);
  }
}
