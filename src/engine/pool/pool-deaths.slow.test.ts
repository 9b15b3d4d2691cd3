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
import { IN_RELEASE_TIER, WHOLE_MATRIX } from "../../../test/whole-matrix.testing.ts";

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
  test("once is started again, and its tasks are retried", IN_RELEASE_TIER, async () => {
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

describe("memory", LINUX_ONLY, () => {
  test("over the limit fails the task with a clear message, and another task continues", async () => {
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

test(
  "where this process and the host hold more than the limit, no ticker is to blame",
  LINUX_ONLY,
  async () => {
    const pool = fixture.start({ memoryLimitBytes: 16 * 2 ** 20 });
    const error = await rejection(pool.run(fixture.task(ENDLESS)));
    assert.equal(error.code, "out_of_memory");
    assert.match(error.message, /the job's processes held \d+ MiB of memory, over the limit of 16 MiB/);
    assert.equal(await rejection(pool.run(fixture.task(QUICK))), error);
  },
);
