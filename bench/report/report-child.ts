/**
 * Reads an output, or makes its report; prints seconds of processor time, without start-up and imports. Usage: report-child.ts read|report
 * PATH OUT
 */
import { readFileSync } from "node:fs";
import { writeReport } from "../../src/report/write-report.ts";

const WORK: Record<string, (path: string, out: string) => Promise<void>> = {
  async read(path) {
    JSON.parse(readFileSync(path, "utf8"));
  },
  report: (path, out) => writeReport({ outputs: [path], out }, { policy: { allowed: [] } }),
};

const [name, path, out] = process.argv.slice(2);
const before = process.cpuUsage();
await WORK[name!]!(path!, out!);
const { user, system } = process.cpuUsage(before);
process.stdout.write(`${JSON.stringify({ seconds: (user + system) / 1e6 })}\n`);
