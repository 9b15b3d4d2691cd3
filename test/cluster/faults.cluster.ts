/** What fails on a real cluster, as the job sees it. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { MucastError } from "../../src/contract/errors/errors.ts";
import { isRunning } from "../../src/contract/machine/process-stat.ts";
import { findEnvironment } from "../../src/engine/environment/environment.ts";
import { readArray } from "../../src/engine/npy.ts";
import { engineProcesses, HUNGRY, PoolFixture, QUICK, until } from "../engine/pool-fixture.ts";
import { type RayCluster, startRayCluster } from "../servers/ray-cluster.testing.ts";

const GIBIBYTE = 2 ** 30;

let cluster: RayCluster;
let fixture: PoolFixture;
before(async () => {
  const memory_limit = 1.5 * GIBIBYTE;
  cluster = await startRayCluster({
    nodes: [
      { name: "head", cpus: 0 },
      { name: "a", memory_limit },
      { name: "b", memory_limit },
    ],
  });
  process.env.RAY_AUTH_TOKEN_PATH = cluster.tokenFile;
  fixture = new PoolFixture();
});
after(async () => {
  await fixture?.remove();
  delete process.env.RAY_AUTH_TOKEN_PATH;
  await cluster?.stop();
});

describe("a job on a cluster", { timeout: 1_800_000 }, () => {
  test("loses a task over the memory of its nodes after a second attempt", async () => {
    const notices: string[] = [];
    const pool = fixture.start({
      python: findEnvironment("ray").python,
      libraries: ["catboost", "lightgbm"],
      workers: undefined,
      cluster: { url: cluster.address, insecure: false },
      notice: (line) => notices.push(line),
    });
    const hungry = pool.run(fixture.task(HUNGRY, { label: "HUNGRY" }));
    const error = await hungry.then(
      () => assert.fail("it has no end of its own"),
      (reason: unknown) => reason,
    );
    // Ray may end tasks beside it too, so that the others come afterwards.
    await Promise.all(Array.from({ length: 6 }, (_, i) => pool.run(fixture.task(QUICK, { label: `T${i}` }))));
    await pool.close();
    assert.ok(error instanceof MucastError);
    const { ticker, deaths } = error.data;
    assert.deepEqual([error.code, ticker], ["engine_crashed", "HUNGRY"]);
    const overMemory = /^it was over the memory of its node \(on the node 10\.77\.0\.[34]\)$/;
    assert.ok(Array.isArray(deaths) && deaths.length === 1, String(deaths));
    assert.match(String(deaths[0]), overMemory);
    assert.match(error.message, /^HUNGRY: the cluster lost the task 2 times: /);
    assert.ok(
      notices.some((line) => line.startsWith("HUNGRY: its first attempt was lost, and it runs again on")),
    );
  });

  /** A pool, and the first gateway that it has started. */
  async function withGateway() {
    const pool = fixture.start({
      python: findEnvironment("ray").python,
      workers: undefined,
      cluster: { url: cluster.address, insecure: false },
    });
    return { pool, gateway: await until(() => engineProcesses(fixture.folder).hosts[0]) };
  }

  test("goes on where its gateway is killed before it has inspected the nodes", async () => {
    const { pool, gateway } = await withGateway();
    const running = pool.run(fixture.task(QUICK));
    process.kill(gateway, "SIGKILL");
    assert.equal(readArray((await running).predictions).length, 50);
    await pool.close();
  });

  test("goes on where its gateway is stopped for ever amid its tasks", async (t) => {
    t.mock.timers.enable({ apis: ["setInterval"] });
    const { pool, gateway } = await withGateway();
    await pool.greeting;
    const tasks = Array.from({ length: 4 }, () => pool.run(fixture.task(QUICK)));
    process.kill(gateway, "SIGSTOP");
    await until(() => {
      if (!isRunning(gateway)) return true;
      t.mock.timers.tick(15_000);
      return undefined;
    });
    for (const result of await Promise.all(tasks)) assert.equal(readArray(result.predictions).length, 50);
    await pool.close();
  });
});
