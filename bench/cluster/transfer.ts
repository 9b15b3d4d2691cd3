/** How much data goes to the cluster and back for a job's tickers, how fast its driver sends it, and in how much memory. */
import { readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { startRayCluster } from "../../test/servers/ray-cluster.testing.ts";
import type { Table } from "../bench.ts";
import { type Engine, sleep, withEngine } from "./engines.ts";

const SLEEPING = fileURLToPath(new URL("sleeping", import.meta.url));
const ENGINE = fileURLToPath(new URL("../../engine", import.meta.url));
const MEGABYTE = 2 ** 20;
const SIZES = [
  { tickers: 100, rows: 1_000, columns: 20 },
  // 4 GB, far more than the head's store can hold.
  { tickers: 500, rows: 5_000, columns: 200 },
] as const;
/** The number of tickers whose arrays are on the driver's disk at a time. */
const AT_ONCE = 64;

export async function benchTransfer(): Promise<Table> {
  const cluster = await startRayCluster({
    nodes: [
      { name: "head", cpus: 0, store: 256 * MEGABYTE },
      { name: "a", store: 128 * MEGABYTE },
      { name: "b", store: 128 * MEGABYTE },
    ],
    env: { PYTHONPATH: `${SLEEPING}:${ENGINE}` },
  });
  try {
    const rows = await withEngine(cluster, async (engine) => {
      const made: string[][] = [];
      for (const { tickers, rows, columns } of SIZES) {
        const before = await cluster.traffic();
        const wallSeconds = await runAll(engine, tickers, rows, columns);
        const { sent, received } = await cluster.traffic();
        const values = (8 * rows * (columns + 1)) / MEGABYTE;
        made.push([
          `${tickers} of ${rows} x ${columns}`,
          values.toFixed(2),
          ((sent - before.sent) / MEGABYTE / tickers).toFixed(2),
          ((received - before.received) / MEGABYTE / tickers).toFixed(3),
          ((sent - before.sent) / MEGABYTE).toFixed(0),
          ((sent - before.sent) / MEGABYTE / wallSeconds).toFixed(0),
          (peakBytes(gatewayPid()) / MEGABYTE).toFixed(0),
          (peakBytes("self") / MEGABYTE).toFixed(0),
        ]);
      }
      return made;
    });
    return {
      title: "Arrays sent to two nodes and received from them, with one task per ticker that does not fit",
      header: [
        "tickers",
        "size of each, MiB",
        "sent for each, MiB",
        "received for each, MiB",
        "sent in total, MiB",
        "sent per second, MiB",
        "peak memory of the gateway, MiB",
        "peak memory of this process, MiB",
      ],
      rows,
    };
  } finally {
    await cluster.stop();
  }
}

/** One task per ticker, whose arrays are removed when it has ended. @returns seconds. */
async function runAll(
  { pool, task }: Engine,
  tickers: number,
  rows: number,
  columns: number,
): Promise<number> {
  const started = performance.now();
  let left = tickers;
  const runSome = async () => {
    while (left-- > 0) {
      const one = task(sleep(0), rows, columns);
      await pool.run(one);
      rmSync(one.x.ref);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, runSome));
  return (performance.now() - started) / 1_000;
}

/** Pid of the child of this process that is a gateway. */
function gatewayPid(): string {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").trim().split(" ");
  const found = children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("--engine"));
  if (found === undefined) throw new Error("there is no gateway");
  return found;
}

/** The peak memory of a process. */
function peakBytes(pid: string): number {
  return 1_024 * Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]);
}
