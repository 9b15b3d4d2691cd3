/**
 * A real Ray cluster of several nodes on this machine, for tests, in its own namespaces (`engine/tests/cluster/ray_cluster.py` says how).
 * It ends at `stop`, and also when the test's process dies. If the system does not let this user create namespaces, the start rejects and
 * says what to do.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { findEnvironment } from "../../src/engine/environment/environment.ts";

const SCRIPT = fileURLToPath(new URL("../../engine/tests/cluster/ray_cluster.py", import.meta.url));

/** The resources of a node; the first one of a cluster is its head. Sizes are in bytes. */
export interface NodePlan {
  readonly name: string;
  /** 1 by default. */
  readonly cpus?: number;
  readonly gpus?: number;
  /** What its tasks may reserve; 1 GiB by default. */
  readonly memory?: number;
  /** Size of its object store, at least 75 MiB; 100 MiB by default. */
  readonly store?: number;
  /** Memory limit of its processes together in bytes, like the cgroup of a container; no limit by default. */
  readonly memory_limit?: number;
  readonly python?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface ClusterPlan {
  readonly nodes: readonly NodePlan[];
  /** Variables of all nodes. */
  readonly env?: Readonly<Record<string, string>>;
  /** False for a cluster that requires no token. */
  readonly token?: boolean;
}

export interface NodeProcess {
  /** A process of the cluster's own tree, for `signal`. */
  readonly pid: number;
  readonly state: string;
  readonly command: string;
}

export interface RayCluster {
  /** URL for Ray's client, such as `ray://127.0.0.1:41234`: the only port that is reachable from outside, by loopback. */
  readonly address: string;
  /** The same cluster for a command that starts with `enter`. */
  readonly inside: string;
  readonly enter: readonly string[];
  /** A file of mode 600. */
  readonly tokenFile: string;
  add(...nodes: NodePlan[]): Promise<void>;
  /** Kills everything on a node. */
  kill(name: string): Promise<void>;
  /** Stops every process on a node, as SIGSTOP does. */
  freeze(name: string): Promise<void>;
  /** Disconnects a node, or the `driver`, which connects through `address`. */
  cut(name: string): Promise<void>;
  restore(name: string): Promise<void>;
  processes(name: string): Promise<NodeProcess[]>;
  signal(name: string, pid: number, signal: number): Promise<void>;
  /** Bytes that went through `address` so far, to the cluster and back. */
  traffic(): Promise<{ readonly sent: number; readonly received: number }>;
  stop(): Promise<void>;
}

/** For tests that lose no node: a busy machine can keep a node from answering Ray's health check for minutes. */
export const PATIENT_HEALTH_CHECK = { RAY_health_check_failure_threshold: "60" };

/** Resolves when the head knows every node. */
export async function startRayCluster(plan: ClusterPlan): Promise<RayCluster> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-ray-"));
  const { python } = findEnvironment("ray");
  const child = spawn(python, ["-s", SCRIPT, "serve", folder], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit");
  child.stdin.on("error", () => undefined);
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let last: Promise<unknown> = Promise.resolve();

  async function ask(order: object) {
    child.stdin.write(`${JSON.stringify(order)}\n`);
    const { value } = await answers.next();
    const answer = JSON.parse(value ?? '{"error": "the cluster has ended"}');
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer;
  }
  /** One command at a time, because answers carry no name. */
  const inTurn = (order: object) => {
    const answer = last.then(() => ask(order));
    last = answer.catch(() => undefined);
    return answer;
  };
  const act = (what: string) => async (name: string) => {
    await inTurn({ do: what, name });
  };
  async function stop() {
    child.stdin.end();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }

  try {
    const { address, inside, enter, token_file: tokenFile } = await inTurn(plan);
    return {
      address,
      inside,
      enter,
      tokenFile,
      async add(...nodes) {
        await inTurn({ do: "add", nodes });
      },
      kill: act("kill"),
      freeze: act("freeze"),
      cut: act("cut"),
      restore: act("restore"),
      processes: async (name) => (await inTurn({ do: "processes", name })).processes,
      async signal(name, pid, signal) {
        await inTurn({ do: "signal", name, pid, signal });
      },
      traffic: () => inTurn({ do: "traffic", name: "driver" }),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
