/**
 * Reading the same features as JSON and as Parquet: bytes, time and peak memory of mucast and of other readers, each in a process of
 * its own. This file is also the program of the readers on Node: `reading.ts mucast|JSON.parse PATH`. Linux only.
 */
import { execFileSync } from "node:child_process";
import {
  createReadStream,
  createWriteStream,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createGzip } from "node:zlib";
import { openBlob } from "../../src/blob/open-blob.ts";
import { formatDay, parseDay } from "../../src/contract/market/dates.ts";
import { readFeatures } from "../../src/ingest/read-blob.ts";
import { type BlobFormat, blobFiles } from "../../src/prepare/blob-files.ts";
import { FEATURE_NAMES, featuresOf, unionOfDays } from "../../src/prepare/features.ts";
import { readPriceFile } from "../../src/prepare/input-files.ts";
import { seededRandom } from "../../test/twins/random.ts";
import { peerPython, type Table } from "../bench.ts";

const PROGRAM = fileURLToPath(import.meta.url);
const PEER = fileURLToPath(new URL("../peers/read_features.py", import.meta.url));
const DAYS = 2_500;
const RUNS = 3;

/** The others are compared with the first. */
const FORMATS: Readonly<Record<string, BlobFormat>> = {
  JSON: { format: "json" },
  "Parquet float64 snappy": { format: "parquet", compression: "snappy", float32: false },
  "Parquet float64 zstd": { format: "parquet", compression: "zstd", float32: false },
  "Parquet float32 snappy": { format: "parquet", compression: "snappy", float32: true },
  "Parquet float32 zstd": { format: "parquet", compression: "zstd", float32: true },
};
const GZIP = "gzip JSON";

/** mucast reads as a job does, with decompression and the digest. */
const NODE_READERS: Readonly<Record<string, (path: string) => Promise<number>>> = {
  async mucast(path) {
    let values = 0;
    const blob = await openBlob(path, { allowed: [] });
    for await (const ticker of readFeatures(blob, { workFolder: tmpdir() })) values += ticker.values.length;
    return values;
  },
  async "JSON.parse"(path) {
    type Features = Record<string, Record<string, (number | null)[]>>;
    const { features } = JSON.parse(readFileSync(path, "utf8")) as { features: Features };
    const columns = Object.values(features).flatMap((each) => Object.values(each));
    return columns.reduce((sum, column) => sum + column.length, 0);
  },
};

interface Reading {
  readonly seconds: number;
  readonly processorSeconds: number;
  /** The same for all. */
  readonly values: number;
  readonly peakBytes: number;
}

/** `--tickers` is 165, which makes a JSON file of 200 MB. JSON.parse reads 512 MiB at most. */
export async function benchReading(options: readonly string[]): Promise<readonly Table[]> {
  const { values } = parseArgs({
    args: [...options],
    options: { tickers: { type: "string", default: "165" } },
  });
  const tickers = Number(values.tickers);
  const folder = mkdtempSync(join(tmpdir(), "mucast-bench-"));
  try {
    const paths = await writeFiles(folder, tickers);
    const best = new Map<string, Reading & { file: string; reader: string }>();
    // In rounds, so that a busy minute does not fall on one reader.
    for (let round = 0; round < RUNS; round++) {
      for (const [file, path] of paths) {
        for (const reader of readersOf(file)) {
          const [program, script] =
            reader in NODE_READERS ? [process.execPath, PROGRAM] : [peerPython("readers"), PEER];
          const reading: Reading = JSON.parse(
            execFileSync(program, [script, reader, path], { encoding: "utf8" }),
          );
          const before = best.get(`${file} ${reader}`);
          if (before === undefined || reading.processorSeconds < before.processorSeconds)
            best.set(`${file} ${reader}`, { file, reader, ...reading });
        }
      }
    }
    return [tableOf([...best.values()], paths, tickers)];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function readersOf(file: string): readonly string[] {
  if (file === "JSON") return ["mucast", "JSON.parse", "json", "orjson", "pandas"];
  return file === GZIP ? ["mucast"] : ["mucast", "pandas", "polars"];
}

/** Writes the features of a simulated market in every format. @returns the paths by the name of the file. */
async function writeFiles(folder: string, count: number): Promise<ReadonlyMap<string, string>> {
  const csv = join(folder, "prices.csv");
  writeFileSync(csv, marketCsv(count));
  const { tickers } = await readPriceFile(csv);
  const dates = unionOfDays(tickers);
  const window = { start: dates[0]!, end: dates.at(-1)! };
  const paths = new Map<string, string>();
  for (const [file, format] of Object.entries(FORMATS)) {
    const [, blob] = blobFiles("1", format, {
      ...{ window, dates, rows: dates, tickers, features: featuresOf(tickers) },
      columns: FEATURE_NAMES,
    });
    const path = join(folder, `${file.replaceAll(" ", "-")}-${blob!.name}`);
    await pipeline(Readable.from(blob!.content), createWriteStream(path));
    paths.set(file, path);
    if (format.format !== "json") continue;
    await pipeline(createReadStream(path), createGzip(), createWriteStream(`${path}.gz`));
    paths.set(GZIP, `${path}.gz`);
  }
  return paths;
}

/** A wide CSV of daily prices: geometric random walks over weekdays. */
function marketCsv(tickers: number): string {
  const random = seededRandom(1);
  const prices = Array.from({ length: tickers }, () => 100);
  const lines = [["date", ...prices.map((_, t) => `T${t}`)].join(",")];
  for (let day = parseDay("2013-01-01")!; lines.length <= DAYS; day++) {
    // 1970-01-01 was a Thursday; 2 and 3 are Saturday and Sunday.
    if (day % 7 === 2 || day % 7 === 3) continue;
    for (let t = 0; t < tickers; t++) prices[t]! *= Math.exp(0.01 * random.normal());
    lines.push([formatDay(day), ...prices.map((price) => price.toFixed(4))].join(","));
  }
  return `${lines.join("\n")}\n`;
}

function tableOf(
  readings: readonly (Reading & { file: string; reader: string })[],
  paths: ReadonlyMap<string, string>,
  tickers: number,
): Table {
  const json = readings[0]!;
  if (readings.some(({ values }) => values !== json.values))
    throw new Error("the readers read different numbers");
  const bytes = (file: string) => statSync(paths.get(file)!).size;
  const megabytes = (size: number) => (size / 1e6).toFixed(0);
  return {
    title: `Reading the features of ${tickers} tickers on ${DAYS} dates (${FEATURE_NAMES.length} features), best of ${RUNS}`,
    header: ["file", "reader", "MB", "JSON MB / MB", "processor s", "wall s", "/ mucast on JSON", "peak MB"],
    rows: readings.map(({ file, reader, seconds, processorSeconds, peakBytes }) => [
      ...[file, reader, megabytes(bytes(file)), (bytes("JSON") / bytes(file)).toFixed(1)],
      ...[processorSeconds.toFixed(2), seconds.toFixed(2)],
      ...[(processorSeconds / json.processorSeconds).toFixed(1), megabytes(peakBytes)],
    ]),
  };
}

if (import.meta.main) {
  const [reader, path] = process.argv.slice(2) as [string, string];
  const [start, before] = [performance.now(), process.cpuUsage()];
  const values = await NODE_READERS[reader]!(path);
  const seconds = (performance.now() - start) / 1_000;
  const { user, system } = process.cpuUsage(before);
  const [, kibibytes] = /^VmHWM:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))!;
  const reading = {
    seconds,
    processorSeconds: (user + system) / 1e6,
    values,
    peakBytes: 1_024 * Number(kibibytes),
  };
  process.stdout.write(JSON.stringify(reading));
}
