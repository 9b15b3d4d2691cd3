/** Reading the same features as JSON and as Parquet: bytes, time and peak memory, beside pandas and polars, each in a separate process. */
import { execFile } from "node:child_process";
import { createReadStream, createWriteStream, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createGzip } from "node:zlib";
import { type BlobFormat, blobFiles } from "../../src/prepare/blob-files.ts";
import { FEATURE_NAMES, featuresOf, unionOfDays } from "../../src/prepare/features.ts";
import { readPriceFile } from "../../src/prepare/input-files.ts";
import { MARKET_DAYS, marketCsv } from "../jobs/job-blobs.ts";
import { peerPython } from "../peer-python.ts";
import type { Table } from "../table.ts";

const run = promisify(execFile);
const CHILD = fileURLToPath(new URL("./reading-child.ts", import.meta.url));
const PEER = fileURLToPath(new URL("../peers/read_parquet.py", import.meta.url));

const TICKERS = 500;
const RUNS = 3;

/** The files, by their name in the table. The first is the one that others are compared with. */
const FORMATS: Readonly<Record<string, BlobFormat>> = {
  JSON: { format: "json" },
  "Parquet float64 snappy": { format: "parquet", compression: "snappy", float32: false },
  "Parquet float64 zstd": { format: "parquet", compression: "zstd", float32: false },
  "Parquet float32 snappy": { format: "parquet", compression: "snappy", float32: true },
  "Parquet float32 zstd": { format: "parquet", compression: "zstd", float32: true },
};
const GZIP = "gzip JSON";

interface Reading {
  readonly seconds: number;
  readonly processorSeconds: number;
  /** The number of values that were read: the same for all files and readers. */
  readonly values: number;
  readonly peakBytes: number;
}

interface Measured extends Reading {
  readonly file: string;
  readonly reader: string;
  readonly bytes: number;
}

/** @returns a table of every file and reader. Takes five minutes. */
export async function benchFormats(): Promise<Table> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-bench-"));
  try {
    const paths = await writeFiles(folder);
    const python = peerPython("readers");
    const pairs: [file: string, reader: string, command: string[]][] = [];
    for (const file of paths.keys()) pairs.push([file, "mucast", [process.execPath, CHILD, "mucast-blob"]]);
    for (const file of paths.keys())
      if (file.startsWith("Parquet"))
        for (const peer of ["pandas", "polars"]) pairs.push([file, peer, [python, PEER, peer]]);
    const best = new Map<string, Measured>();
    // One round after the other, so that a busy minute does not fall on one reader alone.
    for (let round = 0; round < RUNS; round++) {
      for (const [file, reader, [program, ...args]] of pairs) {
        const path = paths.get(file)!;
        const { stdout } = await run(program!, [...args, path]);
        const found = { file, reader, bytes: statSync(path).size, ...(JSON.parse(stdout) as Reading) };
        const key = `${file} ${reader}`;
        const before = best.get(key);
        if (before === undefined || found.processorSeconds < before.processorSeconds) best.set(key, found);
      }
    }
    return tableOf([...best.values()]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Writes the features of a simulated market in every format. */
async function writeFiles(folder: string): Promise<ReadonlyMap<string, string>> {
  const csv = join(folder, "prices.csv");
  writeFileSync(csv, marketCsv(TICKERS));
  const { tickers } = await readPriceFile(csv);
  const dates = unionOfDays(tickers);
  const window = { start: dates[0]!, end: dates.at(-1)! };
  const paths = new Map<string, string>();
  for (const [file, format] of Object.entries(FORMATS)) {
    const features = featuresOf(tickers);
    const [, blob] = blobFiles("1", format, {
      ...{ window, dates, rows: dates, tickers, features },
      columns: FEATURE_NAMES,
    });
    const path = join(folder, `${file.replaceAll(" ", "-")}-${blob!.name}`);
    await pipeline(Readable.from(blob!.content), createWriteStream(path));
    paths.set(file, path);
    if (format.format !== "json") continue;
    const compressed = join(folder, "features.json.gz");
    await pipeline(createReadStream(path), createGzip(), createWriteStream(compressed));
    paths.set(GZIP, compressed);
  }
  return paths;
}

function tableOf(measured: readonly Measured[]): Table {
  const [json] = measured;
  if (measured.some(({ values }) => values !== json!.values))
    throw new Error("the readers read different numbers");
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(0);
  return {
    title: `Reading the features of ${TICKERS} tickers on ${MARKET_DAYS} dates (${FEATURE_NAMES.length} features), best of ${RUNS}`,
    header: [
      ...["file", "reader", "MB", "JSON MB / MB", "processor s", "wall s"],
      ...["JSON processor s / processor s", "peak MB"],
    ],
    rows: measured.map(({ file, reader, bytes, seconds, processorSeconds, peakBytes }) => [
      file,
      reader,
      megabytes(bytes),
      (json!.bytes / bytes).toFixed(1),
      processorSeconds.toFixed(2),
      seconds.toFixed(2),
      (json!.processorSeconds / processorSeconds).toFixed(1),
      megabytes(peakBytes),
    ]),
  };
}
