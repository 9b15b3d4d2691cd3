/** A pool on a fake gateway: a process that sends what the test tells it to, in place of `mucast_engine cluster`. */
import { afterEach, beforeEach, type TestContext } from "node:test";
import type { EnginePool, PoolOptions } from "../../src/engine/pool/pool.ts";
import type { FitPredictTask } from "../../src/engine/pool/protocol.ts";
import { FakeGateway, type GatewayProcess, type GREETING, type Request } from "./fake-gateway.ts";
import { PoolFixture, QUICK } from "./pool-fixture.ts";

export { rejection } from "./pool-fixture.ts";

export const CLUSTER = { url: "ray://127.0.0.1:10001", insecure: false };

/** New for each test of the file that calls `useFakeCluster`. */
export class FakeCluster {
  readonly fixture = new PoolFixture();
  readonly gateway = new FakeGateway(this.fixture.folder);

  /** A pool whose gateway has sent its greeting. */
  async connected(
    more: Partial<PoolOptions> = {},
    greeting: Partial<typeof GREETING> = {},
  ): Promise<{
    readonly pool: EnginePool;
    readonly process: GatewayProcess;
    readonly notices: string[];
  }> {
    const notices: string[] = [];
    const pool = this.fixture.start({
      python: this.gateway.python,
      cluster: CLUSTER,
      workers: undefined,
      notice: (line) => notices.push(line),
      ...more,
    });
    const process = await this.gateway.started();
    process.greet(greeting);
    await pool.greeting;
    return { pool, process, notices };
  }

  task(label: string): FitPredictTask {
    return this.fixture.task(QUICK, { label });
  }

  async close(): Promise<void> {
    await this.fixture.remove();
    await this.gateway.close();
  }
}

/** Calls `take` with a new one before each test of a file, and closes it afterwards. */
export function useFakeCluster(take: (cluster: FakeCluster) => void): void {
  let cluster: FakeCluster;
  beforeEach(() => {
    cluster = new FakeCluster();
    take(cluster);
  });
  afterEach(() => cluster.close());
}

/** The fake's answer to a task. */
export function resultOf({ id, task: given }: Request): object {
  const predictions = { ref: given?.predictions.ref, dtype: "<f8", shape: [50], order: "C" };
  return {
    event: "result",
    id,
    result: { predictions, seconds: [1, 1], unconverged_fits: 0, diagnoses: [{}] },
  };
}

/** The fake's report of a node that is lost with the task of a slot. */
export function lost(worker: number, name = "10.0.0.1"): object {
  return { event: "worker_exited", worker, node: name, reason: `the node ${name} was lost` };
}

/** Sets variables of this process for one test. */
export function setVariables(t: TestContext, variables: Readonly<Record<string, string>>): void {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  t.after(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
}
