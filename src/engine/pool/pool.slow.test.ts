import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  bytesOf,
  ENDLESS,
  engineProcesses,
  HUNGRY,
  PoolFixture,
  QUICK,
  until,
} from "../../../test/engine/pool-fixture.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { isRunning } from "../../contract/machine/process-stat.ts";
import { readArray } from "../inline-array.ts";
import type { EnginePool } from "./pool.ts";

const linux = { skip: process.platform !== "linux" && "looks into /proc", timeout: 600_000 };

let fixture: PoolFixture;
beforeEach(() => {
  fixture = new PoolFixture();
});
afterEach(() => fixture.remove());

/** The error that `promise` rejects with. */
async function rejection(promise: Promise<unknown>): Promise<MucastError> {
  const error = await promise.then(
    () => assert.fail("it was fulfilled"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof MucastError, String(error));
  return error;
}

const worker = () => until(() => engineProcesses(fixture.folder).workers[0]);

describe("a pool", { timeout: 600_000 }, () => {
  /** For tests that leave it unchanged. */
  const shared = new PoolFixture();
  let three: EnginePool;
  before(() => {
    three = shared.start({ workers: 3 });
  });
  after(() => shared.remove());

  test("greets with the versions in use and runs tasks submitted before that", async () => {
    const pool = fixture.start();
    const seen: number[] = [];
    const result = await pool.run(fixture.task(QUICK), { onProgress: ({ fit }) => seen.push(fit) });
    assert.deepEqual(seen, [0, 1]);
    assert.equal(result.seconds.length, 2);
    assert.equal(readArray(result.predictions).length, 50);
    const { versions } = await pool.greeting;
    assert.match(versions.python, /^3\./);
    assert.ok(versions.catboost);
  });

  test("returns the same bytes with one worker and with three", async () => {
    const bytesFrom = async (where: PoolFixture, pool: EnginePool) => {
      const tasks = Array.from({ length: 6 }, () => where.task(QUICK));
      return (await Promise.all(tasks.map((task) => pool.run(task)))).map(bytesOf);
    };
    const runs = await Promise.all([
      bytesFrom(fixture, fixture.start({ workers: 1 })),
      bytesFrom(shared, three),
    ]);
    assert.deepEqual(runs[0], runs[1]);
  });

  test("never runs more workers than its limit", linux, async () => {
    let most = 0;
    const onProgress = () => {
      most = Math.max(most, engineProcesses(shared.folder).workers.length);
    };
    await Promise.all(Array.from({ length: 8 }, () => three.run(shared.task(QUICK), { onProgress })));
    assert.equal(most, 3);
  });

  test("runs as many tasks at a time as its limit says, also after a change", linux, async () => {
    const running = new Set<number>();
    let most = 0;
    const runs = (numbers: readonly number[]) =>
      numbers.map(async (number) => {
        const onProgress = () => {
          most = Math.max(most, running.add(number).size);
        };
        await three.run(shared.task(QUICK), { onProgress });
        running.delete(number);
      });
    three.setWorkers(1);
    await Promise.all(runs([1, 2, 3, 4]));
    three.setWorkers(3);
    assert.equal(most, 1);
    const pool = fixture.start({ workers: 1 });
    for (const _ of [1, 2, 3]) pool.run(fixture.task(ENDLESS)).catch(() => undefined);
    await worker();
    pool.setWorkers(3);
    await until(() => engineProcesses(fixture.folder).workers.length === 3 || undefined);
  });

  test("rejects with a task's own error, its code and ticker, and continues to work", async () => {
    const bad = shared.task(QUICK, { label: "AAPL", fits: [{ train: [0, 1], predict: [1, 2] }] });
    const error = await rejection(three.run(bad));
    assert.equal(error.code, "fit_failed");
    assert.match(error.message, /^AAPL: /);
    assert.equal(error.data.ticker, "AAPL");
    await three.run(shared.task(QUICK));
  });

  test("refuses wrong argument values in a trial", async () => {
    const estimator = { ...QUICK, params: { ...QUICK.params, depth: 99 } } as unknown as typeof QUICK;
    const error = await rejection(three.run({ task: "trial", estimator, scaler: "none", columns: 8 }));
    assert.equal(error.code, "invalid_model_params");
    assert.deepEqual([error.data.parameter, error.data.value], ["depth", 99]);
  });

  test("logs what libraries print, and takes none of it for a message", async () => {
    const lines: string[] = [];
    const pool = fixture.start({ log: (line) => lines.push(line) });
    const loud = { ...QUICK, params: { ...QUICK.params, verbose: true } } as typeof QUICK;
    await pool.run(fixture.task(loud));
    await pool.close();
    assert.ok(lines.some((line) => line.includes("learn:")));
  });

  test("returns many predictions in a file and few in the message, with the same bytes", async () => {
    const fit = { train: [0, 150], predict: [0, 200] } as const;
    const run = (fits: number) => three.run(shared.task(QUICK, { fits: Array(fits).fill(fit) }));
    const [inFile, inMessage] = await Promise.all([run(6), run(3)]);
    assert.ok("ref" in inFile.predictions && "base64" in inMessage.predictions);
    assert.equal(bytesOf(inFile), bytesOf(inMessage).repeat(2));
  });

  test("keeps the text of numbers: 1.0 and 1 mean different things to a forest", async () => {
    const pool = fixture.start({ libraries: ["sklearn"] });
    const forest = (maxFeatures: string) =>
      fixture.task({
        library: "sklearn",
        class: "RandomForestRegressor",
        params: JSON.parse(`{"n_estimators": 5, "random_state": 42, "max_features": ${maxFeatures}}`, raw),
      });
    const tasks = [forest("1.0"), forest("1"), forest("4")];
    const [all, one, four] = (await Promise.all(tasks.map((task) => pool.run(task)))).map(bytesOf);
    assert.notEqual(all, one);
    assert.equal(all, four);
  });
});

// Node has JSON.rawJSON and source access since version 21; TypeScript's library does not have them yet.
function raw(_key: string, value: unknown, { source }: { source?: string } = {}): unknown {
  const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };
  return typeof value === "number" ? rawJSON(source!) : value;
}

describe("a worker that is killed during a fit", linux, () => {
  test("costs one attempt, and the result is the same", async () => {
    const lines: string[] = [];
    const pool = fixture.start({ workers: 1, log: (line) => lines.push(line) });
    const first = bytesOf(await pool.run(fixture.task(QUICK)));
    let killed = false;
    const disturbed = pool.run(fixture.task(QUICK, { label: "B" }), {
      onProgress: () => {
        if (!killed) process.kill(engineProcesses(fixture.folder).workers[0]!, "SIGKILL");
        killed = true;
      },
    });
    const others = await Promise.all([disturbed, pool.run(fixture.task(QUICK))]);
    assert.match(lines.join(), /a worker died at its task: it was ended by SIGKILL/);
    assert.deepEqual(others.map(bytesOf), [first, first]);
  });

  test("twice fails as engine_crashed with its ticker, and the others go on", async () => {
    const pool = fixture.start({ workers: 2 });
    const doomed = rejection(pool.run(fixture.task(ENDLESS, { label: "DOOM" })));
    const first = await worker();
    process.kill(first, "SIGKILL");
    const others = [fixture.task(QUICK), fixture.task(QUICK)].map((task) => pool.run(task));
    await Promise.all(others);
    // Any busy worker now has the doomed task: nothing else is left.
    const killed = new Set([first]);
    const ended = doomed.then(() => true);
    let over = false;
    void ended.then(() => {
      over = true;
    });
    await until(() => {
      for (const pid of engineProcesses(fixture.folder).workers) {
        if (!killed.has(pid)) process.kill(pid, "SIGKILL");
        killed.add(pid);
      }
      return over || undefined;
    });
    const error = await doomed;
    assert.equal(error.code, "engine_crashed");
    assert.equal(error.data.ticker, "DOOM");
    assert.match(error.message, /^DOOM: the worker died 2 times: it was ended by SIGKILL/);
    await pool.run(fixture.task(QUICK));
  });
});

describe("a host that is killed", linux, () => {
  test("once is started again, and its tasks are retried", async () => {
    const pool = fixture.start();
    let killed = false;
    const disturbed = await pool.run(fixture.task(QUICK), {
      onProgress: () => {
        if (!killed) process.kill(engineProcesses(fixture.folder).hosts[0]!, "SIGKILL");
        killed = true;
      },
    });
    assert.equal(bytesOf(disturbed), bytesOf(await pool.run(fixture.task(QUICK))));
  });

  test("twice fails every task as engine_crashed", async () => {
    const pool = fixture.start();
    const failing = [ENDLESS, ENDLESS, ENDLESS].map((task) => rejection(pool.run(fixture.task(task))));
    await worker();
    const [killed] = engineProcesses(fixture.folder).hosts;
    process.kill(killed!, "SIGKILL");
    const second = await until(() => {
      const { hosts, workers } = engineProcesses(fixture.folder);
      // An orphan that the kernel has yet to kill looks like a host.
      return hosts.length === 1 && hosts[0] !== killed && workers.length === 2 ? hosts[0] : undefined;
    });
    process.kill(second, "SIGKILL");
    for (const error of await Promise.all(failing)) assert.equal(error.code, "engine_crashed");
    assert.equal((await rejection(pool.run(fixture.task(QUICK)))).code, "engine_crashed");
  });
});

describe("a process that is stopped", linux, () => {
  const stoppedMilliseconds = 80;

  test("is killed if it is the host, and its tasks are retried with another host", async () => {
    const pool = fixture.start({ workers: 1, stoppedMilliseconds });
    const stop = new AbortController();
    const endless = assert.rejects(pool.run(fixture.task(ENDLESS), { signal: stop.signal }), /enough/);
    const quick = pool.run(fixture.task(QUICK));
    await worker();
    const [stopped] = engineProcesses(fixture.folder).hosts;
    process.kill(stopped!, "SIGSTOP");
    await until(() => !isRunning(stopped!) || undefined);
    await until(() => {
      const { hosts, workers } = engineProcesses(fixture.folder);
      return (hosts.length === 1 && workers.length === 1) || undefined;
    });
    stop.abort(new Error("enough"));
    await endless;
    await quick;
  });

  test("is killed if it is a worker, and its task is retried; the second time fails it with a clear message", async () => {
    const lines: string[] = [];
    const pool = fixture.start({ workers: 1, stoppedMilliseconds, log: (line) => lines.push(line) });
    const [host] = await Promise.all([until(() => engineProcesses(fixture.folder).hosts[0]), pool.greeting]);
    const doomed = rejection(pool.run(fixture.task(ENDLESS, { label: "DOOM" })));
    const first = await worker();
    process.kill(first, "SIGSTOP");
    const second = await until(() => engineProcesses(fixture.folder).workers.find((pid) => pid !== first));
    process.kill(second, "SIGSTOP");
    const { code, message } = await doomed;
    assert.equal(code, "engine_crashed");
    const why = String.raw`it was stopped \(SIGSTOP\) for 0\.08 s`;
    assert.match(message, new RegExp(`^DOOM: the worker died 2 times: ${why}; ${why}$`));
    assert.match(lines.join("\n"), new RegExp(`a worker died at its task: ${why}`));
    await pool.run(fixture.task(QUICK));
    assert.deepEqual(engineProcesses(fixture.folder).hosts, [host]);
  });
});

describe("an aborted task", linux, () => {
  test("has its worker killed during a fit and rejects with the reason, and the pool continues", async () => {
    const pool = fixture.start({ workers: 1 });
    const stop = new AbortController();
    const running = pool.run(fixture.task(ENDLESS), { signal: stop.signal });
    const pid = await worker();
    const reason = new Error("no longer wanted");
    stop.abort(reason);
    await assert.rejects(running, reason);
    assert.equal(isRunning(pid), false);
    await pool.run(fixture.task(QUICK));
  });

  test("has its worker killed although the host is stopped, and the pool continues with another host", async () => {
    const pool = fixture.start({ workers: 1, killGraceMilliseconds: 50 });
    const stop = new AbortController();
    const reason = new Error("no longer wanted");
    const running = assert.rejects(pool.run(fixture.task(ENDLESS), { signal: stop.signal }), reason);
    const pid = await worker();
    const [host] = engineProcesses(fixture.folder).hosts;
    process.kill(host!, "SIGSTOP");
    stop.abort(reason);
    await running;
    assert.equal(isRunning(host!), false);
    await until(() => !isRunning(pid) || undefined);
    await pool.run(fixture.task(QUICK));
  });

  test("that waits rejects at once, and one that was aborted before never starts", async () => {
    const pool = fixture.start({ workers: 1 });
    const busy = rejection(pool.run(fixture.task(ENDLESS)));
    const stop = new AbortController();
    const waiting = pool.run(fixture.task(QUICK), { signal: stop.signal });
    stop.abort(new Error("too late"));
    await assert.rejects(waiting, /too late/);
    await assert.rejects(pool.run(fixture.task(QUICK), { signal: stop.signal }), /too late/);
    await pool.close();
    assert.equal((await busy).code, "canceled");
  });

  test("among a hundred with one signal causes no leak warning", async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on("warning", note);
    const stop = new AbortController();
    const pool = fixture.start({ workers: 1 });
    const tasks = Array.from({ length: 100 }, () => pool.run(fixture.task(ENDLESS), { signal: stop.signal }));
    stop.abort(new Error("all of them"));
    const ends = await Promise.allSettled(tasks);
    assert.ok(ends.every(({ status }) => status === "rejected"));
    process.off("warning", note);
    assert.deepEqual(warnings, []);
  });
});

describe("closing", linux, () => {
  test("kills running tasks, fails waiting ones, and leaves no process", async () => {
    const pool = fixture.start({ workers: 1 });
    const tasks = [ENDLESS, QUICK].map((estimator) => rejection(pool.run(fixture.task(estimator))));
    await worker();
    await Promise.all([pool.close(), pool.close()]);
    assert.deepEqual(engineProcesses(fixture.folder), { hosts: [], workers: [] });
    for (const error of await Promise.all(tasks)) assert.equal(error.code, "canceled");
    assert.equal((await rejection(pool.run(fixture.task(QUICK)))).code, "canceled");
  });

  test("while the libraries are imported does not wait for them", async () => {
    const pool = fixture.start({ libraries: ["sklearn", "lightgbm"] });
    const waiting = rejection(pool.run(fixture.task(QUICK)));
    await until(() => engineProcesses(fixture.folder).hosts[0]);
    await pool.close();
    assert.equal((await waiting).code, "canceled");
    assert.equal((await rejection(pool.greeting)).code, "canceled");
    assert.deepEqual(engineProcesses(fixture.folder), { hosts: [], workers: [] });
  });

  test("after the host was killed waits for its workers", async () => {
    const pool = fixture.start({ workers: 2 });
    const tasks = [ENDLESS, ENDLESS].map((estimator) => rejection(pool.run(fixture.task(estimator))));
    await until(() => (engineProcesses(fixture.folder).workers.length === 2 ? true : undefined));
    process.kill(engineProcesses(fixture.folder).hosts[0]!, "SIGKILL");
    await pool.close();
    assert.deepEqual(engineProcesses(fixture.folder), { hosts: [], workers: [] });
    await Promise.all(tasks);
  });
});

describe("when the node process is killed", linux, () => {
  const script = fileURLToPath(new URL("../../../test/engine/pool-in-a-process.ts", import.meta.url));
  for (const when of ["fitting", "importing"] as const) {
    test(`while ${when}, every process of the pool ends`, async () => {
      const child = spawn(process.execPath, [script, fixture.folder], {
        stdio: ["ignore", "ignore", "inherit"],
      });
      const ended = new Promise((resolve) => child.once("close", resolve));
      const seen = () => {
        const { hosts, workers } = engineProcesses(fixture.folder);
        return (when === "fitting" ? workers : hosts).at(0);
      };
      await until(seen);
      child.kill("SIGKILL");
      await ended;
      await until(() => {
        const { hosts, workers } = engineProcesses(fixture.folder);
        return hosts.length + workers.length === 0 ? true : undefined;
      });
    });
  }
});

describe("memory", linux, () => {
  test("over the limit fails the task with a clear message, and another task goes on", async () => {
    const pool = fixture.start({ libraries: ["lightgbm", "catboost"], memoryLimitBytes: 700 * 2 ** 20 });
    const [error] = await Promise.all([
      rejection(pool.run(fixture.task(HUNGRY, { label: "BIG" }))),
      pool.run(fixture.task(QUICK)),
    ]);
    assert.equal(error.code, "engine_crashed");
    assert.equal(error.data.ticker, "BIG");
    assert.match(error.message, /it held \d+ MiB of memory .* over the limit of 700 MiB/);
    assert.equal((error.data.deaths as string[]).length, 1, "a second attempt would have ended the same way");
    await pool.run(fixture.task(QUICK));
  });
});

test("where this process and the host hold more than the limit, no ticker is to blame", linux, async () => {
  const pool = fixture.start({ memoryLimitBytes: 16 * 2 ** 20 });
  const error = await rejection(pool.run(fixture.task(ENDLESS)));
  assert.equal(error.code, "out_of_memory");
  assert.match(error.message, /the job's processes held \d+ MiB of memory, over the limit of 16 MiB/);
  assert.equal(await rejection(pool.run(fixture.task(QUICK))), error);
});

describe("an engine that does not start", { timeout: 600_000 }, () => {
  const never = new Map([
    ["is not there", join("/no/such", "python")],
    ["ends at once", "/bin/false"],
  ]);
  for (const [what, python] of never) {
    test(`because the interpreter ${what} makes every task reject with engine_unavailable`, async () => {
      const pool = fixture.start({ python });
      const waiting = rejection(pool.run(fixture.task(QUICK)));
      const error = await rejection(pool.greeting);
      assert.equal(error.code, "engine_unavailable");
      assert.ok(error.message.includes(python));
      assert.equal(await waiting, error);
      assert.equal(await rejection(pool.run(fixture.task(QUICK))), error);
      await pool.close();
    });
  }

  test(
    "because it is killed fails as engine_crashed, with the signal and no advice to install",
    linux,
    async () => {
      const pool = fixture.start();
      process.kill(await until(() => engineProcesses(fixture.folder).hosts[0]), "SIGKILL");
      const error = await rejection(pool.greeting);
      assert.equal(error.code, "engine_crashed");
      const message =
        "the engine was ended by SIGKILL while it started, as happens where the machine's memory runs out";
      assert.equal(error.message, message);
    },
  );

  for (const start of ["fork", "spawn"] as const) {
    test(`because a library is missing names it, if workers start by ${start}`, async () => {
      const pool = fixture.start({ libraries: ["catboost", "nosuch"], start });
      const error = await rejection(pool.run(fixture.task(QUICK)));
      assert.equal(error.code, "engine_unavailable");
      assert.match(error.message, /nosuch/);
    });
  }
});

test("workers with their own interpreters return the same bytes as forked ones", {
  timeout: 600_000,
}, async () => {
  const forked = await fixture.start({ start: "fork" }).run(fixture.task(QUICK));
  const pool = fixture.start({ start: "spawn" });
  const spawned = await pool.run(fixture.task(QUICK));
  assert.equal((await pool.greeting).start, "spawn");
  assert.equal(bytesOf(forked), bytesOf(spawned));
});
