/**
 * Reads a feature blob; prints seconds, values and peak memory as JSON. `mucast-blob` reads it as a job does, with decompression and the
 * digest. Usage: reading-child.ts mucast|mucast-blob|json-parse PATH
 */
import { createReadStream, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { openBlob } from "../../src/blob/open-blob.ts";
import { readFeatures } from "../../src/ingest/read-blob.ts";

type Features = Record<string, Record<string, (number | null)[]>>;

const READERS: Record<string, (path: string) => Promise<number>> = {
  async mucast(path) {
    let values = 0;
    const chunks = createReadStream(path, { highWaterMark: 2 ** 20 });
    for await (const ticker of readFeatures({ name: path, chunks }, { workFolder: tmpdir() })) {
      values += ticker.values.length;
    }
    return values;
  },
  async "mucast-blob"(path) {
    let values = 0;
    const blob = await openBlob(path, { allowed: [] });
    for await (const ticker of readFeatures(blob, { workFolder: tmpdir() })) values += ticker.values.length;
    return values;
  },
  async "json-parse"(path) {
    const { features } = JSON.parse(readFileSync(path, "utf8")) as { features: Features };
    const columns = Object.values(features).flatMap((each) => Object.values(each));
    return columns.reduce((sum, column) => sum + column.length, 0);
  },
};

/** Linux reports the peak of this program alone; elsewhere it is the peak of the process, in KiB. */
function peakBytes(): number {
  try {
    const [, kibibytes] = /^VmHWM:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))!;
    return Number(kibibytes) * 1024;
  } catch {
    return process.resourceUsage().maxRSS * 1024;
  }
}

const [name, path] = process.argv.slice(2);
const start = performance.now();
const before = process.cpuUsage();
const values = await READERS[name!]!(path!);
const seconds = (performance.now() - start) / 1000;
const { user, system } = process.cpuUsage(before);
const processorSeconds = (user + system) / 1e6;
process.stdout.write(`${JSON.stringify({ seconds, processorSeconds, values, peakBytes: peakBytes() })}\n`);
