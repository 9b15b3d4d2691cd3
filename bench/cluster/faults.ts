/** How long a fault of a node delays its task: from the fault to the answer of the second attempt, or to the end of the task. */
import { fileURLToPath } from "node:url";
import { type RayCluster, startRayCluster } from "../../test/servers/ray-cluster.testing.ts";
import type { Table } from "../bench.ts";
import { sleep, withEngine } from "./engines.ts";

const SLEEPING = fileURLToPath(new URL("sleeping", import.meta.url));
const ENGINE = fileURLToPath(new URL("../../engine", import.meta.url));
const LONG = 600;
const PAUSE = 50;

/** Ray's name for its process that works on a task. */
const AT_A_TASK = /^ray::mucast/;

const MEASURED: readonly (readonly [what: string, measure: (cluster: RayCluster) => Promise<string>])[] = [
  ["a job is cancelled, until nothing of it runs on a node", canceled],
  ["a node is killed, until its task runs on the other", (cluster) => lost(cluster, "kill")],
  ["a node loses power, until its task runs on the other", (cluster) => lost(cluster, "power")],
  ["a node is frozen, until its task runs on the other", (cluster) => lost(cluster, "freeze")],
];

export async function benchFaults(): Promise<Table> {
  const rows: string[][] = [];
  for (const [what, measure] of MEASURED) {
    const cluster = await startRayCluster({
      nodes: [{ name: "head", cpus: 0 }, { name: "a" }, { name: "b" }],
      env: { PYTHONPATH: `${SLEEPING}:${ENGINE}` },
    });
    try {
      rows.push([what, await measure(cluster)]);
    } finally {
      await cluster.stop();
    }
  }
  return { title: "Faults on a cluster of two nodes", header: ["fault", "seconds"], rows };
}

async function runs(cluster: RayCluster, name: string, what: RegExp): Promise<boolean> {
  return (await cluster.processes(name)).some(({ command }) => what.test(command));
}

async function canceled(cluster: RayCluster): Promise<string> {
  return withEngine(cluster, async ({ pool, task }) => {
    for (let i = 0; i < 2; i++) pool.run(task(sleep(LONG))).catch(() => undefined);
    for (const name of ["a", "b"]) await until(() => runs(cluster, name, AT_A_TASK));
    const started = performance.now();
    await pool.close();
    for (const name of ["a", "b"]) await until(async () => !(await runs(cluster, name, AT_A_TASK)));
    return seconds(started);
  });
}

/** Without power, a node does not even refuse connections, and does not report its end. */
async function lost(cluster: RayCluster, fault: "kill" | "power" | "freeze"): Promise<string> {
  return withEngine(cluster, async ({ pool, task }) => {
    pool.run(task(sleep(LONG))).catch(() => undefined);
    const isAtA = () => runs(cluster, "a", AT_A_TASK);
    const isAtB = () => runs(cluster, "b", AT_A_TASK);
    await until(async () => (await isAtA()) || (await isAtB()));
    const [its, isAtOther] = (await isAtA()) ? (["a", isAtB] as const) : (["b", isAtA] as const);
    const started = performance.now();
    if (fault === "power") await cluster.cut(its);
    await cluster[fault === "power" ? "kill" : fault](its);
    await until(isAtOther);
    return seconds(started);
  });
}

function seconds(started: number): string {
  return ((performance.now() - started) / 1_000).toFixed(1);
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, PAUSE));
}
