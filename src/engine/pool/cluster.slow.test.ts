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
    const given = {
      RAY_AUTH_MODE: "token",
      RAY_AUTH_TOKEN: "0123456789abcdef",
      RAY_TLS_CA_CERT: "/ca.pem",
      RAY_USE_TLS: "1",
    };
    setVariables(t, { ...given, RAY_ADDRESS: "elsewhere", DATABASE_URL: "postgresql://secret" });
    const { pool, process: started } = await cluster.connected({
      kernelLevel: "x86-64-v3",
      libraries: ["a", "b"],
    });
    assert.deepEqual(started.args, [
      ...[
        "-s",
        "-P",
        "-m",
        "mucast_engine",
        "cluster",
        "--libraries",
        "a,b",
        "--folder",
        cluster.fixture.folder,
      ],
      ...["--engine", CLUSTER.url],
    ]);
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

  test("waits while a cluster has no node", async () => {
    const { pool, process: started, notices } = await cluster.connected({}, { slots: 0 });
    const running = pool.run(cluster.task("A"));
    started.say({ event: "delayed", message: "the cluster has no node for tasks" });
    started.say({ event: "slots", slots: 1, added: ["10.0.0.9"], lost: [] });
    started.say(resultOf(await started.started()));
    await running;
    assert.equal(notices[0], "the cluster has no node for tasks");
  });

  test("fails tasks that wait for a node once the gateway has waited long enough", async () => {
    const { pool, process: started } = await cluster.connected({}, { slots: 0 });
    const running = rejection(pool.run(cluster.task("A")));
    const message = "the cluster has had no node for tasks, for 300 s (10.0.0.1: the node was lost)";
    const lost = [{ name: "10.0.0.1", reason: "the node was lost" }];
    started.say({ event: "failed", code: "engine_unavailable", message, data: { lost } });
    const { code, data } = await running;
    assert.equal(code, "engine_unavailable");
    assert.deepEqual(data, { lost, engine: CLUSTER.url });
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

  test("reports which task waits for what", async () => {
    const { pool, process: started, notices } = await cluster.connected();
    const running = pool.run(cluster.task("A"));
    const given = await started.started();
    started.say({ event: "delayed", id: given.id, message: "no node has 4 free cores" }, resultOf(given));
    await running;
    assert.deepEqual(notices, ["A: no node has 4 free cores"]);
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
