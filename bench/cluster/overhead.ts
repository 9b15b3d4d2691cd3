/** Fits of about two seconds on two cores: as workers of this machine, and as two nodes of one core each. */
import { type RayCluster, startRayCluster } from "../../test/servers/ray-cluster.testing.ts";
import type { Table } from "../bench.ts";
import { forest, measure, withEngine } from "./engines.ts";

const CORES = 2;
const TASKS = 40;
const SECONDS = 2;
const ROUNDS = 2;

export async function benchOverhead(): Promise<Table> {
  const cluster = await startRayCluster({
    nodes: [{ name: "head", cpus: 0 }, { name: "a" }, { name: "b" }],
  });
  try {
    const trees = await treesFor(SECONDS);
    const rows: string[][] = [];
    for (let round = 0; round < ROUNDS; round++) {
      rows.push(await measured("two workers of this machine", CORES, trees));
      rows.push(await measured("two nodes of one core", cluster, trees));
    }
    return {
      title: `${TASKS} fits of about ${SECONDS} s on ${CORES} cores, twice`,
      header: [
        "where",
        "time until tasks are accepted, s",
        "wall time, s",
        "share of time not spent fitting",
        "overhead per task, ms",
      ],
      rows,
    };
  } finally {
    await cluster.stop();
  }
}

async function treesFor(seconds: number): Promise<number> {
  const trees = 50;
  return withEngine(1, async ({ pool, task }) => {
    const { fitSeconds } = await measure(pool, [task(forest(trees))]);
    return Math.round((trees * seconds) / fitSeconds);
  });
}

function measured(name: string, where: RayCluster | number, trees: number): Promise<string[]> {
  return withEngine(where, async ({ pool, task, readySeconds }) => {
    const tasks = Array.from({ length: TASKS }, () => task(forest(trees)));
    const { wallSeconds, fitSeconds } = await measure(pool, tasks);
    const idle = wallSeconds * CORES - fitSeconds;
    return [
      name,
      readySeconds.toFixed(1),
      wallSeconds.toFixed(1),
      `${((100 * idle) / (wallSeconds * CORES)).toFixed(1)} %`,
      ((1_000 * idle) / TASKS).toFixed(0),
    ];
  });
}
