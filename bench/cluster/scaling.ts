/** Tasks that sleep in place of fits, on more and more nodes of one slot: any loss comes from the cluster and the driver. */
import { fileURLToPath } from "node:url";
import { startRayCluster } from "../../test/servers/ray-cluster.testing.ts";
import type { Table } from "../table.ts";
import { measure, sleep, withEngine } from "./engines.ts";

const NODES = [1, 2, 4, 8, 16] as const;
const LENGTHS = [1, 0.1] as const;
/** The number of values per task; a slot gets as many tasks of each length. */
const ROWS = 100;
const TASKS_A_SLOT = { 1: 20, 0.1: 100 } as const;

const SLEEPING = fileURLToPath(new URL("sleeping", import.meta.url));
const ENGINE = fileURLToPath(new URL("../../engine", import.meta.url));

export async function benchScaling(): Promise<Table> {
  const node = (index: number) => ({ name: `n${index}` });
  const cluster = await startRayCluster({
    nodes: [{ name: "head", cpus: 0 }, node(0)],
    env: { PYTHONPATH: `${SLEEPING}:${ENGINE}` },
  });
  const rows: string[][] = [];
  try {
    let there = 1;
    for (const count of NODES) {
      // Two at a time: a machine of few cores cannot start more within Ray's own limits.
      for (; there < count; there += Math.min(2, count - there))
        await cluster.add(
          ...Array.from({ length: Math.min(2, count - there) }, (_, index) => node(there + index)),
        );
      rows.push(
        await withEngine(cluster, async ({ pool, task, readySeconds }) => {
          const shares: string[] = [];
          // Untimed: what a process does only for its first task is not part of what a further node brings.
          await measure(
            pool,
            Array.from({ length: 2 * count }, () => task(sleep(0.1), ROWS)),
          );
          for (const seconds of LENGTHS) {
            const tasks = Array.from({ length: count * TASKS_A_SLOT[seconds] }, () =>
              task(sleep(seconds), ROWS),
            );
            const { wallSeconds } = await measure(pool, tasks);
            const linear = TASKS_A_SLOT[seconds] * seconds;
            shares.push(
              `${((100 * linear) / wallSeconds).toFixed(0)} %`,
              (tasks.length / wallSeconds).toFixed(1),
            );
          }
          process.stderr.write(`${count} nodes: ${shares.join(", ")}\n`);
          return [String(count), readySeconds.toFixed(1), ...shares];
        }),
      );
    }
  } finally {
    await cluster.stop();
  }
  return {
    title:
      "Tasks that sleep instead of fitting, on nodes with one slot each: share of linear scaling, and tasks per second",
    header: [
      "nodes",
      "time until tasks are accepted, s",
      "tasks of 1 s",
      "per second",
      "tasks of 0.1 s",
      "per second",
    ],
    rows,
  };
}
