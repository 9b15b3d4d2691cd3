import type { ClusterEngine } from "../contract/engine-url.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { counted } from "../contract/errors/wording.ts";
import type { Estimator } from "../contract/model-params/resolve.ts";
import { LIBRARIES } from "../engine/environment/engine-status.ts";
import { findEnvironment } from "../engine/environment/environment.ts";
import { EnginePool } from "../engine/pool/pool.ts";
import { inWorkFolder } from "../jobs/shared/work-folder.ts";

const RIDGE = { library: "sklearn", class: "Ridge", params: { alpha: 1 } } as unknown as Estimator;
const TRIAL = { task: "trial", estimator: RIDGE, scaler: "none", columns: 2 } as const;
/** Fits whose median is the round trip. */
const ROUNDS = 5;
const NODES_SHOWN = 50;
const GIB = 2 ** 30;

/**
 * Connects to a cluster as a job of each kind does, and runs a test fit on each of its nodes. A cluster that cannot be used
 * is an answer, no error.
 * @param notice gets what the cluster keeps it waiting for, line by line.
 * @returns whether both jobs can run there, and why, for people.
 */
export async function clusterStatus(
  cluster: ClusterEngine,
  notice: (line: string) => void,
): Promise<{ readonly ready: boolean; readonly lines: readonly string[] }> {
  const lines: string[] = [];
  try {
    const { python } = findEnvironment("ray");
    await inWorkFolder(async (workFolder) => {
      for (const [libraries, describe] of [
        [LIBRARIES.ml, fitLines],
        [LIBRARIES.dl, networkLines],
      ] as const) {
        const pool = EnginePool.start({ python, libraries, workFolder, cluster, notice });
        try {
          lines.push(...(await describe(pool)));
        } finally {
          await pool.close();
        }
      }
    });
    return { ready: true, lines };
  } catch (error) {
    if (!(error instanceof MucastError)) throw error;
    return { ready: false, lines: [...lines, error.message] };
  }
}

async function fitLines(pool: EnginePool): Promise<string[]> {
  const start = performance.now();
  const greeting = await pool.greeting;
  const connected = performance.now() - start;
  const { nodes, ray } = greeting.cluster!;
  const fits = await Promise.all(
    nodes.map(({ name, cpus }) => (cpus < 1 ? undefined : fitSeconds(pool, name))),
  );
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await fitSeconds(pool));
  const slots = counted(greeting.slots!, "task");
  const { python, ...libraries } = greeting.versions;
  return [
    `ray     ${ray}, connected in ${seconds(connected / 1_000)}; ${slots} of one thread at a time`,
    ...nodes.slice(0, NODES_SHOWN).map(({ name, cpus, gpus, memory_bytes }, i) => {
      const fit = fits[i] === undefined ? "no core for tasks" : `test fit ${seconds(fits[i])}`;
      return `node    ${name}: cores ${cpus}, GPUs ${gpus}, ${(memory_bytes / GIB).toFixed(1)} GiB, ${fit}`;
    }),
    ...(nodes.length > NODES_SHOWN ? [`        and ${nodes.length - NODES_SHOWN} more nodes`] : []),
    `        round trip of a fit ${seconds(rounds.toSorted((a, b) => a - b)[(ROUNDS - 1) / 2]!)}`,
    ...healthLines(greeting.cluster?.variables ?? {}),
    `python  ${python}`,
    ...Object.entries(libraries).map(([name, version]) => `        ${name} ${version}`),
    `        ${greeting.machine.processor}`,
  ];
}

/** @param node by its name; any by default. */
async function fitSeconds(pool: EnginePool, node?: string): Promise<number> {
  const start = performance.now();
  await pool.run(TRIAL, { node });
  return (performance.now() - start) / 1_000;
}

async function networkLines(pool: EnginePool): Promise<string[]> {
  const { device } = await pool.run({ task: "device", device: "auto" });
  const greeting = await pool.greeting;
  return [`        torch ${greeting.versions.torch}, networks on ${device}`];
}

function seconds(value: number): string {
  return `${value.toFixed(value < 1 ? 3 : 1)} s`;
}

/**
 * The environment variables by which Ray finds out that a node is lost, with the values of the image and of docs/cluster.md. With Ray's
 * defaults, the tasks of a killed node wait up to 15 s, and those of a node that is frozen or cut off about 14 minutes.
 */
export const HEALTH_VARIABLES: Readonly<Record<string, string>> = {
  RAY_health_check_period_ms: "1000",
  RAY_health_check_timeout_ms: "3000",
  RAY_health_check_failure_threshold: "5",
  RAY_grpc_client_keepalive_time_ms: "10000",
  RAY_grpc_client_keepalive_timeout_ms: "15000",
};

/** Names each of these variables that has another value on the head of a cluster. */
export function healthLines(variables: Readonly<Record<string, string>>): string[] {
  const others = Object.entries(HEALTH_VARIABLES).filter(([name, value]) => variables[name] !== value);
  if (others.length === 0) return [];
  return [
    "health  Ray may notice late that a node is lost, because the head has other values than docs/cluster.md:",
    ...others.map(
      ([name, value]) => `        ${name} is ${variables[name] ?? "not set"} instead of ${value}`,
    ),
  ];
}
