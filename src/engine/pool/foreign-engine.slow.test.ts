import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type FakeCluster, rejection, resultOf, useFakeCluster } from "../../../test/engine/fake-cluster.ts";
import { type GatewayProcess, GREETING, type Request } from "../../../test/engine/fake-gateway.ts";
import { QUICK } from "../../../test/engine/pool-fixture.ts";
import { isRunning } from "../../contract/machine/process-stat.ts";
import { readArray } from "../npy.ts";
import type { EnginePool } from "./pool.ts";
import type { EngineTask } from "./protocol.ts";

const options = { timeout: 600_000 };

let fake: FakeCluster;
useFakeCluster((made) => {
  fake = made;
});

/** A pool of this machine whose host is the fake; it has sent its greeting. */
async function hosted(): Promise<{ readonly pool: EnginePool; readonly host: GatewayProcess }> {
  const pool = fake.fixture.start({ python: fake.gateway.python });
  return { pool, host: await nextHost() };
}

async function nextHost(): Promise<GatewayProcess> {
  const host = await fake.gateway.started();
  host.greet({ start: "fork" });
  return host;
}

/** No pool reads it. */
const file = (name: string) => `/work-folder/${name}`;
const array = (name: string, length: number) =>
  ({ ref: file(name), dtype: "<f8", shape: [length], order: "C" }) as const;

/** The fields of each task that the check of its result reads. */
function networkTask(name: string): object {
  const training = { epochs: 5 };
  const parts = { train: 9, validate: 3, predict: 4 };
  return {
    task: "train_network",
    label: name,
    ticker: name,
    member: 0,
    training,
    parts,
    predictions: { ref: file(name) },
  };
}

const trained = (name: string, length = 7) => ({
  predictions: array(name, length),
  epochs: [1, 2, 3].map(() => ({ train_loss: 0.1, validation_loss: 0.2 })),
  best_epoch: 2,
  zero_validation_loss: 0.3,
  parameters: 12,
  seconds: 0.5,
});

/** Each kind of task with a valid result. */
const SOUND: { readonly [K in EngineTask["task"]]: () => readonly [task: object, result: object] } = {
  trial: () => [{ task: "trial", estimator: QUICK, scaler: "none", columns: 4 }, {}],
  device: () => [{ task: "device", device: "auto" }, { device: "cuda:1" }],
  fit_predict: () => {
    const task = fake.task("A");
    const predictions = array("p.npy", 50);
    return [
      {
        ...task,
        predictions: { ref: predictions.ref },
      },
      {
        predictions,
        seconds: [0, 0.5],
        unconverged_fits: 1,
        diagnoses: [
          {
            constant: { value: 0.1, train_rows: 9, largest_alpha: null },
            importances: [
              [3, -0.5],
              [0, 0],
            ],
          },
        ],
      },
    ];
  },
  train_network: () => [networkTask("A"), { ...trained("A"), prediction_scale: 0.01 }],
  train_joint: () => [
    {
      ...networkTask("J"),
      task: "train_joint",
      device: "cpu",
      threads: 1,
      tickers: [{}, {}],
    },
    trained("J", 14),
  ],
  train_stack: () => [
    { task: "train_stack", device: "cuda:0", networks: [networkTask("A"), networkTask("B")] },
    { results: [trained("A"), { code: "diverged", message: "it is not finite", data: {} }] },
  ],
};

/** Members of each kind's result that do not fit the task, by the words that the error uses for them. */
const WRONG: {
  readonly [K in EngineTask["task"]]: readonly (readonly [change: object | null, words: string])[];
} = {
  trial: [],
  device: [[{ device: undefined }, 'its "device" does not fit the task']],
  fit_predict: [
    [null, "a member is missing"],
    [{ predictions: undefined }, "a member is missing"],
    [{ seconds: [1] }, 'its "seconds" does not fit the task'],
    [{ seconds: [1, "1"] }, 'its "seconds" does not fit the task'],
    [{ diagnoses: [] }, 'its "diagnoses" does not fit the task'],
    [{ predictions: array("other.npy", 50) }, 'its "predictions" does not fit the task'],
    [{ predictions: array("p.npy", 49) }, 'its "predictions" does not fit the task'],
    [{ predictions: { ...array("p.npy", 50), shape: [50, 1] } }, 'its "predictions" does not fit the task'],
  ],
  train_network: [
    [{ epochs: undefined }, "a member is missing"],
    [{ epochs: [{ train_loss: 1 }] }, 'its "epochs" does not fit the task'],
    [{ best_epoch: 4 }, 'its "best_epoch" does not fit the task'],
    [{ zero_validation_loss: null }, 'its "zero_validation_loss" does not fit the task'],
  ],
  train_joint: [[{ predictions: array("J", 7) }, 'its "predictions" does not fit the task']],
  train_stack: [
    [{ results: [] }, 'its "results" does not fit the task'],
    [
      { results: [{ ...trained("A"), best_epoch: 9 }, {}] },
      'its "results.0.best_epoch" does not fit the task',
    ],
  ],
};

async function answered(pool: EnginePool, host: GatewayProcess, task: object, result: unknown) {
  const running = pool.run(task as EngineTask);
  running.catch(() => undefined);
  const { id } = await given(host);
  host.say({ event: "result", id, result });
  return running;
}

/** The next task; the pool starts a worker for the first task of a host. */
async function given(host: GatewayProcess): Promise<Request> {
  const request = await host.next();
  if (request?.op === "task") return request;
  assert.equal(request?.op, "start");
  host.say({ event: "worker_started", worker: request.worker });
  return host.expect("task");
}

describe("this machine's engine", options, () => {
  for (const [kind, sound] of Object.entries(SOUND)) {
    test(`whose answer to a ${kind} task is invalid causes one internal error that names the member`, async () => {
      const { pool, host } = await hosted();
      const [task, result] = sound();
      assert.deepEqual(await answered(pool, host, task, result), result);
      for (const [change, words] of WRONG[kind as EngineTask["task"]]) {
        const error = await rejection(answered(pool, host, task, change && { ...result, ...change }));
        const { label } = task as { label?: string };
        const message = `the engine's answer is not a result of a ${kind} task: ${words}`;
        assert.equal(error.message, label === undefined ? message : `${label}: ${message}`);
        assert.equal(error.code, "internal");
        assert.equal(error.data.task, kind);
      }
      assert.deepEqual(await answered(pool, host, task, result), result);
    });
  }

  test("that returns few predictions within its answer needs no file", async () => {
    const { pool, host } = await hosted();
    const values = Float64Array.from({ length: 50 }, (_, i) => i / 7);
    const base64 = Buffer.from(values.buffer).toString("base64");
    const predictions = { base64, dtype: "<f8", shape: [50], order: "C" } as const;
    const task = fake.task("A");
    const running = pool.run(task);
    const { id } = await given(host);
    host.say({
      event: "result",
      id,
      result: { predictions, seconds: [1, 1], unconverged_fits: 0, diagnoses: [{}] },
    });
    assert.deepEqual(readArray((await running).predictions), values);
  });
});

describe("a host that writes text that is no message", options, () => {
  const TORN = [
    '{"event": "result", "id": 2, "resu',
    'lt": {}}',
    "",
    "null",
    "[]",
    '{"event": 7}',
    "printed",
  ];

  test("before its greeting is judged by its messages", async () => {
    const lines: string[] = [];
    const pool = fake.fixture.start({ python: fake.gateway.python, log: (line) => lines.push(line) });
    const host = await fake.gateway.started();
    host.sayLine(...TORN);
    host.greet({ start: "fork" });
    const running = pool.run(fake.task("A"));
    host.say(resultOf(await given(host)));
    await running;
    assert.deepEqual(lines, TORN);
  });

  test("before its greeting and without a line feed is judged by its greeting", async () => {
    const lines: string[] = [];
    const pool = fake.fixture.start({ python: fake.gateway.python, log: (line) => lines.push(line) });
    const host = await fake.gateway.started();
    host.sayLine(`printed${JSON.stringify({ event: "ready", ...GREETING, start: "fork" })}`);
    const running = pool.run(fake.task("A"));
    host.say(resultOf(await given(host)));
    await running;
    assert.deepEqual(lines, ["printed"]);
  });

  for (const line of TORN) {
    test(`such as ${line === "" ? "nothing" : line} is killed, and its task is retried`, async () => {
      const { pool, host } = await hosted();
      const running = pool.run(fake.task("A"));
      await given(host);
      host.sayLine(line);
      const second = await nextHost();
      second.say(resultOf(await given(second)));
      await running;
    });
  }

  test("twice fails its task with the reason, and no task waits forever", async () => {
    const { pool, host } = await hosted();
    const running = rejection(pool.run(fake.task("A")));
    await given(host);
    host.sayLine("{");
    const second = await nextHost();
    await given(second);
    second.sayLine("{");
    const error = await running;
    assert.equal(error.code, "engine_crashed");
    assert.match(error.message, /ended twice \(it wrote a line that is not a message of the engine\)/);
  });
});

test("does not wait for a process that holds the pipes of an ended host", options, async () => {
  const { folder } = fake.fixture;
  const python = join(folder, "wrapper");
  const left = join(folder, "left");
  const script = `#!/bin/sh\nsleep 3600 &\necho $! > '${left}'\nexec '${fake.gateway.python}' "$@"\n`;
  writeFileSync(python, script, { mode: 0o755 });
  const pool = fake.fixture.start({ python });
  const host = await nextHost();
  const pid = Number(readFileSync(left, "utf8"));
  try {
    const running = pool.run(fake.task("A"));
    host.say(resultOf(await given(host)));
    await running;
    await pool.close();
    assert.equal(isRunning(pid), true);
  } finally {
    process.kill(pid, "SIGKILL");
  }
});

test("a host continues to work after a message with an unknown event", options, async () => {
  const pool = fake.fixture.start({ python: fake.gateway.python });
  const host = await nextHost();
  const running = pool.run(fake.task("A"));
  const task = await given(host);
  host.say({ event: "slots", slots: 9 }, { event: "toString" }, resultOf(task));
  await running;
});
