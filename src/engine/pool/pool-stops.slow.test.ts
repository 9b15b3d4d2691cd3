import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import {
  ENDLESS,
  engineProcesses,
  LINUX_ONLY,
  PoolFixture,
  QUICK,
  rejection,
  until,
} from "../../../test/engine/pool-fixture.ts";
import { isRunning } from "../../contract/machine/process-stat.ts";

let fixture: PoolFixture;
beforeEach(() => {
  fixture = new PoolFixture();
});
afterEach(() => fixture.remove());

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
});

describe("closing", LINUX_ONLY, () => {
  test("kills running tasks, fails waiting ones, and leaves no process", async () => {
    const pool = fixture.start({ workers: 1 });
    const tasks = [ENDLESS, QUICK].map((estimator) => rejection(pool.run(fixture.task(estimator))));
    await fixture.worker();
    await Promise.all([pool.close(), pool.close()]);
    assert.deepEqual(engineProcesses(fixture.folder), { hosts: [], workers: [] });
    for (const error of await Promise.all(tasks)) assert.equal(error.code, "canceled");
    assert.equal((await rejection(pool.run(fixture.task(QUICK)))).code, "canceled");
  });
});
