/**
 * Runs one job; prints the processor seconds of its processes and a digest of its output as JSON.
 * Usage: processor-child.ts FEATURES PRICES CONFIG FOLDER
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { runMlJob } from "../../src/jobs/run-job.ts";
import { processTimeOf } from "../processor-ticks.ts";

/** Seconds of the host, and of all its workers together. */
function engineSeconds(): { host: number; workers: number } {
  const processes = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({
      pid: Number(name),
      ...(processTimeOf(Number(name)) ?? { parent: undefined, seconds: 0 }),
    }));
  const secondsUnder = (parents: readonly number[]) => {
    const children = processes.filter(({ parent }) => parent !== undefined && parents.includes(parent));
    const seconds = children.reduce((sum, child) => sum + child.seconds, 0);
    return { pids: children.map(({ pid }) => pid), seconds };
  };
  const host = secondsUnder([process.pid]);
  return { host: host.seconds, workers: secondsUnder(host.pids).seconds };
}

const [featureUrl, dataExtractorUrl, config, blobUrl] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
];
const context = {
  workers: availableParallelism(),
  policy: { allowed: [] },
  signal: new AbortController().signal,
};
const started = performance.now();
const request = { featureUrl, dataExtractorUrl, config, blobUrl, id: "bench" };
let engine: ReturnType<typeof engineSeconds> | undefined;
const { output_url: output } = await runMlJob(request, {
  ...context,
  report: (event) => {
    if (event.kind === "progress" && event.stage === "evaluate") engine ??= engineSeconds();
  },
});
const seconds = (performance.now() - started) / 1_000;
const { user, system } = process.cpuUsage();
const path = fileURLToPath(output);
const text = readFileSync(path, "latin1")
  .replace(/"created_at":"[^"]*"/, "")
  .replace(/"commit":"[^"]*",/, "");
rmSync(path);
const digest = createHash("sha256").update(text).digest("hex");
process.stdout.write(`${JSON.stringify({ node: (user + system) / 1e6, ...engine, seconds, digest })}\n`);
