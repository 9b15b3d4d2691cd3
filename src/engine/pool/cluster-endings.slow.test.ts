import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  CLUSTER,
  type FakeCluster,
  rejection,
  resultOf,
  setVariables,
  useFakeCluster,
} from "../../../test/engine/fake-cluster.ts";
import { GREETING } from "../../../test/engine/fake-gateway.ts";
import { isRunning } from "../../contract/machine/process-stat.ts";

const options = { timeout: 600_000 };

let cluster: FakeCluster;
useFakeCluster((made) => {
  cluster = made;
});

describe("a gateway that ends", options, () => {
  test("is started again once, and its tasks are retried", async () => {
    const { pool, process: started } = await cluster.connected();
    const running = pool.run(cluster.task("A"));
    await started.started();
    started.kill();
    const second = await cluster.gateway.started();
    second.greet();
    const error = rejection(pool.run(cluster.task("B")));
    second.say(resultOf(await second.started()));
    await running;
    second.kill();
    const { code, message, data } = await error;
    assert.equal(code, "engine_crashed");
    assert.equal(message, "the gateway to ray://127.0.0.1:10001 ended twice (signal SIGKILL)");
    assert.equal(data.engine, CLUSTER.url);
  });

  test("and cannot reconnect fails as engine_crashed, with the reason", async () => {
    for (const end of ["told", "silent"]) {
      const { pool, process: started } = await cluster.connected();
      const error = rejection(pool.run(cluster.task("A")));
      await started.started();
      started.kill();
      const second = await cluster.gateway.started();
      assert.deepEqual(second.args.slice(-2), ["--seconds", "300"]);
      const message = `${CLUSTER.url} does not answer`;
      if (end === "told") second.say({ event: "failed", code: "engine_unavailable", message, data: {} });
      else second.kill();
      const { code, message: said } = await error;
      assert.equal(code, "engine_crashed");
      assert.match(said, /^the cluster ray:\S+ was lost, and a new connection failed: /);
      if (end === "told") assert.ok(said.endsWith(message), said);
      await pool.close();
    }
  });

  test("and finds other versions when it is back does not continue the job", async () => {
    const { pool, process: started } = await cluster.connected();
    const error = rejection(pool.run(cluster.task("A")));
    await started.started();
    started.kill();
    const second = await cluster.gateway.started();
    second.greet({ versions: { ...GREETING.versions, numpy: "2.5.0" } });
    const { code, message } = await error;
    assert.equal(code, "engine_crashed");
    assert.match(message, /has other versions or processors than it had when the job began/);
  });

  test("before its greeting fails as engine_unavailable and names the cluster", async () => {
    const pool = cluster.fixture.start({ python: "/bin/false", cluster: CLUSTER });
    const { code, message } = await rejection(pool.run(cluster.task("A")));
    assert.equal(code, "engine_unavailable");
    assert.match(
      message,
      /^the gateway to ray:\/\/127\.0\.0\.1:10001 ended before it was connected \(exit code 1\)/,
    );
  });

  test("when the pool is closed leaves no task and no process", async () => {
    const { pool, process: started } = await cluster.connected();
    const running = rejection(pool.run(cluster.task("A")));
    await started.started();
    await pool.close();
    assert.equal((await running).code, "canceled");
    assert.equal(isRunning(started.pid), false);
  });
});

describe("a cluster that cannot be used", options, () => {
  for (const code of ["engine_unavailable", "engine_crashed"] as const) {
    test(`fails as ${code}, with the gateway's message and data`, async () => {
      const { pool, process: started } = await cluster.connected();
      const failing = ["A", "B", "C"].map((name) => rejection(pool.run(cluster.task(name))));
      await started.started();
      const said = { message: "the node 10.0.0.2 has numpy 2.3.0, not 2.4.0", data: { node: "10.0.0.2" } };
      started.say({ event: "failed", code, ...said });
      for (const error of await Promise.all(failing)) {
        assert.equal(error.code, code);
        assert.equal(error.message, `ray://127.0.0.1:10001: ${said.message}`);
        assert.deepEqual(error.data, { node: "10.0.0.2", engine: CLUSTER.url });
      }
      assert.equal(isRunning(started.pid), false);
    });
  }

  test("is reported before any greeting, without the token, wherever a library has printed it", async (t) => {
    setVariables(t, { RAY_AUTH_TOKEN: "0123456789abcdef" });
    const lines: string[] = [];
    const pool = cluster.fixture.start({
      python: cluster.gateway.python,
      cluster: CLUSTER,
      log: (line) => lines.push(line),
    });
    const started = await cluster.gateway.started();
    started.sayLine("printed 0123456789abcdef");
    started.say({
      event: "failed",
      code: "engine_unavailable",
      message: "0123456789abcdef is wrong",
      data: {},
    });
    const error = await rejection(pool.greeting);
    assert.match(error.message, /: <token> is wrong$/);
    await pool.close();
    assert.deepEqual(lines, ["printed <token>"]);
  });
});
