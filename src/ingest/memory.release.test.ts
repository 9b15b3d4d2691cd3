import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { formatDay } from "../contract/market/dates.ts";
import { readFeatures } from "./read-blob.ts";

const workFolder = await mkdtemp(join(tmpdir(), "mucast-memory-"));
after(() => rm(workFolder, { recursive: true }));

const MIB = 2 ** 20;
const DAYS = 2_500;
const dates = Array.from({ length: DAYS }, (_, i) => `"${formatDay(i)}"`);

/** Repeats a chunk, with `#` replaced by its number: the blob itself is never in memory. */
async function* repeated(start: string, part: string, turns: number, end: string) {
  yield Buffer.from(start);
  for (let turn = 0; turn < turns; turn++) yield Buffer.from(part.replaceAll("#", String(turn)));
  yield Buffer.from(end);
}

/** Reads a blob and checks that memory use, compared with before, stays below `most`. */
async function readBelow(most: number, chunks: AsyncIterable<Uint8Array>): Promise<number> {
  const before = process.memoryUsage.rss();
  let peak = 0;
  let count = 0;
  async function* watched() {
    for await (const chunk of chunks) {
      peak = Math.max(peak, process.memoryUsage.rss());
      yield chunk;
    }
  }
  for await (const { values } of readFeatures({ name: "big.json", chunks: watched() }, { workFolder })) {
    count += values.length;
    peak = Math.max(peak, process.memoryUsage.rss());
  }
  const grown = Math.round((peak - before) / MIB);

  assert.ok(grown < most, `memory grew by ${grown} MiB`);
  return count;
}

describe("reading a blob that is larger than its memory limit", () => {
  it("holds one ticker at a time in the canonical layout", async () => {
    // The values alone are 160 MB.
    const TICKERS = 400;
    const columns = Array.from({ length: 20 }, (_, j) => `"f${j}":[${dates.map((_, i) => `0.${j}${i}`)}]`);
    const chunks = repeated(`{"dates":[${dates}],"features":{"":{}`, `,"T#":{${columns}}`, TICKERS, "}}");
    assert.equal(await readBelow(160, chunks), TICKERS * 20 * DAYS);
  });

  it("holds mixed rows of all tickers at 8 bytes a value, doubled while a column grows", async () => {
    const features = Array.from({ length: 40 }, (_, k) => `"f${k}":${k}.5`);
    const row = `,{"ticker":"T#","date":"1970-01-01",${features}}`;
    const rows = Array.from({ length: 500 }, (_, j) => row.replace("#", String(j))).join("");
    async function* chunks() {
      yield Buffer.from('[{"ticker":"T0","date":"1960-01-01"}');
      for (let day = 0; day < 1_600; day++) yield Buffer.from(rows.replaceAll("1970-01-01", formatDay(day)));
      yield Buffer.from("]");
    }
    // The values alone are 256 MB.
    assert.equal(await readBelow(700, chunks()), 1_600 * 500 * 40 + 40);
  });
});
