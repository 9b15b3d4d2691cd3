import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { afterEach, beforeEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  bytesOf,
  ENDLESS,
  engineProcesses,
  HUNGRY,
  LINUX_ONLY,
  PoolFixture,
  QUICK,
  rejection,
  until,
} from "../../../test/engine/pool-fixture.ts";
import { WHOLE_MATRIX } from "../../../test/whole-matrix.testing.ts";
import { isRunning } from "../../contract/machine/process-stat.ts";

let fixture: PoolFixture;
beforeEach(() => {
  fixture = new PoolFixture();
});
afterEach(() => fixture.remove());

describe("a worker that is killed during a fit", LINUX_ONLY, () => {
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
    const pool = fixture.start({ workers: 1 });
    const doomed = rejection(pool.run(fixture.task(ENDLESS, { label: "DOOM" })));
    const other = pool.run(fixture.task(QUICK));
    const first = await fixture.worker();
    process.kill(first, "SIGKILL");
    const second = await until(() => engineProcesses(fixture.folder).workers.find((pid) => pid !== first));
    process.kill(second, "SIGKILL");
    const error = await doomed;
    assert.equal(error.code, "engine_crashed");
    assert.equal(error.data.ticker, "DOOM");
    assert.match(error.message, /^DOOM: the worker died 2 times: it was ended by SIGKILL/);
    await other;
  });
});

describe("a host that is killed", LINUX_ONLY, () => {
  test("is started again once, and its tasks are retried; twice fails every task as engine_crashed", async () => {
    const pool = fixture.start();
    const failing = [ENDLESS, ENDLESS, ENDLESS].map((task) => rejection(pool.run(fixture.task(task))));
    await fixture.worker();
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

describe("when the node process is killed", LINUX_ONLY, () => {
  const script = fileURLToPath(new URL("../../../test/engine/pool-in-a-process.ts", import.meta.url));
  for (const when of WHOLE_MATRIX ? (["fitting", "importing"] as const) : (["fitting"] as const)) {
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

describe("memory over the limit", LINUX_ONLY, () => {
  test("fails the task with a clear message, and another task continues", async () => {
    const pool = fixture.start({ libraries: ["lightgbm", "catboost"], memoryLimitBytes: 700 * 2 ** 20 });
    const big = rejection(pool.run(fixture.task(HUNGRY, { label: "BIG" })));
    await pool.run(fixture.task(QUICK));
    const error = await big;
    assert.deepEqual([error.code, error.data.ticker], ["engine_crashed", "BIG"]);
    assert.match(error.message, /it held \d+ MiB of memory .* over the limit of 700 MiB/);
    assert.equal((error.data.deaths as string[]).length, 1, "a second attempt would have ended the same way");
    await pool.run(fixture.task(QUICK));
  });

  test("where this process and the host hold it blames no ticker", async () => {
    const pool = fixture.start({ memoryLimitBytes: 16 * 2 ** 20 });
    const error = await rejection(pool.run(fixture.task(ENDLESS)));
    assert.equal(error.code, "out_of_memory");
    assert.match(error.message, /the job's processes held \d+ MiB of memory, over the limit of 16 MiB/);
    assert.equal(await rejection(pool.run(fixture.task(QUICK))), error);
  });
});

describe("an aborted task", LINUX_ONLY, () => {
  test("has its worker killed during a fit and rejects with the reason, and the pool continues", async () => {
    const pool = fixture.start({ workers: 1 });
    const stop = new AbortController();
    const running = pool.run(fixture.task(ENDLESS), { signal: stop.signal });
    const pid = await fixture.worker();
    const reason = new Error("no longer wanted");
    stop.abort(reason);
    await assert.rejects(running, reason);
    assert.equal(isRunning(pid), false);
    await pool.run(fixture.task(QUICK));
  });

  test("has its worker killed although the host is stopped, and the pool continues with another host", async (t) => {
    const pool = fixture.start({ workers: 1 });
    const stop = new AbortController();
    const reason = new Error("no longer wanted");
    const running = assert.rejects(pool.run(fixture.task(ENDLESS), { signal: stop.signal }), reason);
    const pid = await fixture.worker();
    const [host] = engineProcesses(fixture.folder).hosts;
    process.kill(host!, "SIGSTOP");
    t.mock.timers.enable({ apis: ["setTimeout"] });
    stop.abort(reason);
    t.mock.timers.tick(5_000);
    t.mock.timers.reset();
    await running;
    assert.equal(isRunning(host!), false);
    await until(() => !isRunning(pid) || undefined);
    await pool.run(fixture.task(QUICK));
  });
});

describe("closing", LINUX_ONLY, () => {
  test("kills running tasks, fails waiting ones, and leaves no process", async () => {
    const pool = fixture.start({ workers: 1 });
    const stop = new AbortController();
    const tasks = [ENDLESS, QUICK].map((estimator) => rejection(pool.run(fixture.task(estimator))));
    const waiting = pool.run(fixture.task(QUICK), { signal: stop.signal });
    await fixture.worker();
    // One that waits rejects at once if it is aborted, and one that was aborted before never starts.
    stop.abort(new Error("too late"));
    await assert.rejects(waiting, /too late/);
    await assert.rejects(pool.run(fixture.task(QUICK), { signal: stop.signal }), /too late/);
    await Promise.all([pool.close(), pool.close()]);
    assert.deepEqual(engineProcesses(fixture.folder), { hosts: [], workers: [] });
    for (const error of await Promise.all(tasks)) assert.equal(error.code, "canceled");
    assert.equal((await rejection(pool.run(fixture.task(QUICK)))).code, "canceled");
  });
});
