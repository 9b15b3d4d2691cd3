/** How long a small job takes for a caller: over HTTP from a warm service, and by the command line. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Api } from "../../test/service/api.testing.ts";
import { FEATURES, PRICES, payload, RIDGE } from "../../test/service/inputs.testing.ts";
import type { Serving } from "../../test/service/service.testing.ts";
import { quantile } from "../bench.ts";

const JOBS = 30;

export const LATENCY_HEADER = ["how", "jobs", "p50 s", "p95 s"];

/** One job after the other, each with `Prefer: wait`. The first ones, which warm up, do not count. */
export async function measureLatency(name: string, serving: Serving): Promise<string[]> {
  const api = new Api(serving.url);
  const seconds: number[] = [];
  for (let i = -3; i < JOBS; i++) {
    const started = performance.now();
    const { status, error } = await api.submit(payload(serving.url, "small"), { prefer: "wait=60" });
    if (status !== "Succeeded") throw new Error(JSON.stringify(error));
    if (i >= 0) seconds.push((performance.now() - started) / 1_000);
  }
  return row(`HTTP, ${name}`, seconds);
}

/** The same job as a new process each time. */
export function measureCommandLine(jobs = 10): string[] {
  const folder = mkdtempSync(join(tmpdir(), "mucast-bench-"));
  try {
    const [features, prices] = [
      join(folder, "feature_engine_small.json"),
      join(folder, "data_extractor_small.json"),
    ];
    writeFileSync(features, FEATURES);
    writeFileSync(prices, PRICES);
    const inputs = ["--feature-url", features, "--data-extractor-url", prices, "--config", RIDGE];
    const seconds = Array.from({ length: jobs }, () => {
      const started = performance.now();
      const args = ["src/cli/main.ts", "run_ml_job", "--quiet", "--blob-url", folder, ...inputs];
      const done = spawnSync(process.execPath, args, { encoding: "utf8" });
      if (done.status !== 0) throw new Error(done.stderr);
      return (performance.now() - started) / 1_000;
    });
    return row("mucast run_ml_job", seconds);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function row(how: string, seconds: readonly number[]): string[] {
  const [p50, p95] = [quantile(seconds, 0.5), quantile(seconds, 0.95)];
  return [how, String(seconds.length), p50.toFixed(3), p95.toFixed(3)];
}
