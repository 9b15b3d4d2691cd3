/** How much goes to the cluster and back for a job's tickers, and how fast its driver sends it. */
import { fileURLToPath } from "node:url";
import { startRayCluster } from "../../test/servers/ray-cluster.testing.ts";
import type { Table } from "../table.ts";
import { measure, sleep, withEngine } from "./engines.ts";

const SLEEPING = fileURLToPath(new URL("sleeping", import.meta.url));
const ENGINE = fileURLToPath(new URL("../../engine", import.meta.url));
const MEGABYTE = 2 ** 20;
const SIZES = [
  { tickers: 100, rows: 1_000, columns: 20 },
  { tickers: 50, rows: 5_000, columns: 200 },
] as const;

export async function benchTransfer(): Promise<Table> {
  const cluster = await startRayCluster({
    nodes: [
      { name: "head", cpus: 0, store: 512 * MEGABYTE },
      { name: "a", store: 256 * MEGABYTE },
      { name: "b", store: 256 * MEGABYTE },
    ],
    env: { PYTHONPATH: `${SLEEPING}:${ENGINE}` },
  });
  try {
    const rows = await withEngine(cluster, async ({ pool, task }) => {
      const made: string[][] = [];
      for (const { tickers, rows, columns } of SIZES) {
        const tasks = Array.from({ length: tickers }, () => task(sleep(0), rows, columns));
        const before = await cluster.traffic();
        const { wallSeconds } = await measure(pool, tasks);
        const { sent, received } = await cluster.traffic();
        const values = (8 * rows * (columns + 1)) / MEGABYTE;
        made.push([
          `${tickers} of ${rows} x ${columns}`,
          values.toFixed(2),
          ((sent - before.sent) / MEGABYTE / tickers).toFixed(2),
          ((received - before.received) / MEGABYTE / tickers).toFixed(3),
          ((sent - before.sent) / MEGABYTE).toFixed(0),
          ((sent - before.sent) / MEGABYTE / wallSeconds).toFixed(0),
        ]);
      }
      return made;
    });
    return {
      title: "What goes to two nodes and back, one task a ticker that does not fit",
      header: [
        "tickers",
        "MiB of values each",
        "MiB sent each",
        "MiB back each",
        "MiB sent in all",
        "MiB a second",
      ],
      rows,
    };
  } finally {
    await cluster.stop();
  }
}
