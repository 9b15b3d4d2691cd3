import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  CLUSTER,
  type FakeCluster,
  lost,
  rejection,
  resultOf,
  setVariables,
  useFakeCluster,
} from "../../../test/engine/fake-cluster.ts";
import { GREETING } from "../../../test/engine/fake-gateway.ts";
import { isRunning } from "../../contract/machine/process-stat.ts";
import type { FitPredictTask } from "./protocol.ts";

const options = { timeout: 600_000 };

let cluster: FakeCluster;
useFakeCluster((made) => {
  cluster = made;
});

describe("a pool with a cluster", options, () => {
  test("starts a gateway in place of a host, and passes it only Ray's variables of the environment", async (t) => {
    const given = { RAY_AUTH_MODE: "token", RAY_AUTH_TOKEN: "0123456789abcdef", RAY_USE_TLS: "1" };
    setVariables(t, { ...given, RAY_ADDRESS: "elsewhere", DATABASE_URL: "postgresql://secret" });
    const { pool, process: started } = await cluster.connected({
      kernelLevel: "x86-64-v3",
      libraries: ["a", "b"],
    });
    const shown = `-s -P -m mucast_engine cluster --libraries a,b --folder ${cluster.fixture.folder} --engine ${CLUSTER.url}`;
    assert.equal(started.args.join(" "), shown);
    assert.equal(started.env.MUCAST_KERNEL_LEVEL, "x86-64-v3");
    const names = Object.keys(started.env).filter((name) => /^(RAY|DATABASE)/.test(name));
    assert.deepEqual(names.sort(), Object.keys(given));
    assert.deepEqual(await pool.capacity, { slots: 2, cpus: 2, gpus: 1 });
  });

  test("sends one task ahead for each slot of the cluster, even when nodes come and go", async () => {
    const { pool, process: started, notices } = await cluster.connected({}, { slots: 1 });
    const running = ["A", "B", "C", "D", "E", "F"].map((name) => pool.run(cluster.task(name)));
    const first = await started.started();
    const second = await started.started();
    started.say({ event: "slots", slots: 2, added: ["10.0.0.2"], lost: [] });
    const third = await started.started();
    const fourth = await started.started();
    started.say({
      event: "slots",
      slots: 1,
      added: [],
      lost: [{ name: "10.0.0.1", reason: "it did not answer" }],
    });
    started.say(lost(first.worker), resultOf(second), resultOf(third));
    // Two may be there now: the lost task goes to an available slot before the waiting ones.
    const again = await started.expect("task");
    assert.notEqual(again.worker, first.worker);
    assert.equal(again.task?.predictions.ref, first.task?.predictions.ref);
    started.say(resultOf(again), resultOf(fourth));
    for (const _ of ["E", "F"]) started.say(resultOf(await started.expect("task")));
    await Promise.all(running);
    assert.deepEqual(notices, [
      "the cluster runs 2 tasks at a time now: came 10.0.0.2",
      "the cluster runs 1 task at a time now: lost 10.0.0.1 (it did not answer)",
      "A was lost: the node 10.0.0.1 was lost",
    ]);
  });

  test("waits while a cluster has no node, and reports what waits", async () => {
    const { pool, process: started, notices } = await cluster.connected({}, { slots: 0 });
    const running = pool.run(cluster.task("A"));
    started.say({ event: "delayed", message: "the cluster has no node for tasks" });
    started.say({ event: "slots", slots: 1, added: ["10.0.0.9"], lost: [] });
    const given = await started.started();
    started.say({ event: "delayed", id: given.id, message: "no node has 4 free cores" }, resultOf(given));
    await running;
    assert.deepEqual(
      [notices[0], notices[2]],
      ["the cluster has no node for tasks", "A: no node has 4 free cores"],
    );
  });

  test("fails a task on which two nodes were lost, with a clear message, and goes on with the others", async () => {
    const { pool, process: started } = await cluster.connected({ workers: 1 });
    const [doomed, other] = [rejection(pool.run(cluster.task("DOOM"))), pool.run(cluster.task("B"))];
    started.say(lost((await started.started()).worker));
    const { worker } = await started.started();
    started.say({ event: "worker_exited", worker, node: "10.0.0.2", reason: "its process was killed" });
    // An end that comes twice, or for a slot that never existed, changes nothing.
    started.say(lost(worker), lost(4_711));
    const error = await doomed;
    assert.equal(error.code, "engine_crashed");
    assert.equal(
      error.message,
      "DOOM: the cluster lost the task 2 times: the node 10.0.0.1 was lost; its process was killed (on the node 10.0.0.2)",
    );
    assert.equal(error.data.ticker, "DOOM");
    started.say(resultOf(await started.started()));
    await other;
  });

  test("reserves the threads of a joint network, a GPU for a task that uses one, and memory", async () => {
    const gpus = { ...GREETING.cluster!, nodes: [{ name: "g", cpus: 8, gpus: 2, memory_bytes: 1 }] };
    const { pool, process: started } = await cluster.connected({}, { cluster: gpus, slots: 9 });
    assert.deepEqual(await pool.capacity, { slots: 9, cpus: 8, gpus: 2 });
    const asked = async (given: object) => {
      void pool.run(given as FitPredictTask).catch(() => undefined);
      const { cpus, gpus: device } = await started.started();
      return [cpus, device];
    };
    assert.deepEqual(await asked({ task: "train_joint", device: "cpu", threads: 8 }), [4, undefined]);
    assert.deepEqual(await asked({ task: "train_joint", device: "cuda:0", threads: 1 }), [undefined, 1]);
    assert.deepEqual(await asked({ task: "train_stack", device: "cuda:0" }), [undefined, 1]);
    assert.deepEqual(await asked({ task: "train_network", device: "cpu" }), [undefined, undefined]);
    assert.deepEqual(await asked({ task: "device", device: "auto" }), [undefined, undefined]);
    assert.deepEqual(await asked(cluster.task("A")), [undefined, undefined]);
    void pool.run(cluster.task("B"), { node: "g", memoryBytes: 3_000 }).catch(() => undefined);
    const { node, memory } = await started.started();
    assert.deepEqual([node, memory], ["g", 3_000]);
  });

  test("cancels a task, and rejects only after its end", async () => {
    const { pool, process: started } = await cluster.connected();
    const stop = new AbortController();
    const reason = new Error("no longer wanted");
    const running = assert.rejects(pool.run(cluster.task("A"), { signal: stop.signal }), reason);
    const { worker, ...given } = await started.started();
    stop.abort(reason);
    assert.equal((await started.expect("kill")).worker, worker);
    started.say(resultOf({ worker, ...given }));
    started.say({ event: "worker_exited", worker, node: "10.0.0.1", reason: "it was canceled" });
    await running;
    const next = pool.run(cluster.task("B"));
    started.say(resultOf(await started.started()));
    await next;
  });

  test("kills a gateway that does not cancel in time, and tries its other tasks with another one", async (t) => {
    const { pool, process: started } = await cluster.connected();
    const stop = new AbortController();
    const running = assert.rejects(pool.run(cluster.task("A"), { signal: stop.signal }), /no longer/);
    await started.started();
    const other = pool.run(cluster.task("B"));
    await started.started();
    started.kill("SIGSTOP");
    t.mock.timers.enable({ apis: ["setTimeout"] });
    stop.abort(new Error("no longer wanted"));
    t.mock.timers.tick(15_000);
    t.mock.timers.reset();
    await running;
    assert.equal(isRunning(started.pid), false);
    const second = await cluster.gateway.started();
    second.greet();
    second.say(resultOf(await second.started()));
    await other;
  });
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
  test("fails every task with the gateway's code, message and data", async () => {
    const { pool, process: started } = await cluster.connected();
    const failing = ["A", "B", "C"].map((name) => rejection(pool.run(cluster.task(name))));
    await started.started();
    const said = { message: "the node 10.0.0.2 has numpy 2.3.0, not 2.4.0", data: { node: "10.0.0.2" } };
    started.say({ event: "failed", code: "engine_crashed", ...said });
    for (const { code, message, data } of await Promise.all(failing))
      assert.deepEqual(
        [code, message, data],
        [
          "engine_crashed",
          `ray://127.0.0.1:10001: ${said.message}`,
          { node: "10.0.0.2", engine: CLUSTER.url },
        ],
      );
    assert.equal(isRunning(started.pid), false);
  });

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
