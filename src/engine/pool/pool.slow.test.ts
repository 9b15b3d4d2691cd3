import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import {
  bytesOf,
  ENDLESS,
  engineProcesses,
  LINUX_ONLY,
  PoolFixture,
  QUICK,
  rejection,
  until,
} from "../../../test/engine/pool-fixture.ts";
import { IN_RELEASE_TIER, WHOLE_MATRIX } from "../../../test/whole-matrix.testing.ts";
import { readArray } from "../npy.ts";
import type { EnginePool } from "./pool.ts";

let fixture: PoolFixture;
beforeEach(() => {
  fixture = new PoolFixture();
});
afterEach(() => fixture.remove());

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

  test("returns the same bytes with one worker, with three, and with workers that have their own interpreters", async () => {
    const bytesFrom = async (where: PoolFixture, pool: EnginePool) => {
      const tasks = Array.from({ length: 3 }, () => where.task(QUICK));
      return (await Promise.all(tasks.map((task) => pool.run(task)))).map(bytesOf);
    };
    const spawning = fixture.start({ start: "spawn" });
    const [one, ...others] = await Promise.all([
      bytesFrom(fixture, fixture.start({ workers: 1 })),
      bytesFrom(shared, three),
      bytesFrom(fixture, spawning),
    ]);
    assert.deepEqual(others, [one, one]);
    assert.deepEqual([(await three.greeting).start, (await spawning.greeting).start], ["fork", "spawn"]);
  });

  test("runs as many workers as its limit says, also after a change", LINUX_ONLY, async () => {
    let most = 0;
    const onProgress = () => {
      most = Math.max(most, engineProcesses(fixture.folder).workers.length);
    };
    const pool = fixture.start({ workers: 1 });
    await Promise.all([1, 2, 3, 4].map(() => pool.run(fixture.task(QUICK), { onProgress })));
    assert.equal(most, 1);
    pool.setWorkers(3);
    for (const _ of [1, 2, 3, 4]) pool.run(fixture.task(ENDLESS)).catch(() => undefined);
    await until(() => engineProcesses(fixture.folder).workers.length === 3 || undefined);
  });

  test("rejects with a task's own error, its code and ticker, and continues to work", async () => {
    const absent = { ...QUICK, params: { ...QUICK.params, cat_features: [99] } } as unknown as typeof QUICK;
    const bad = shared.task(absent, { label: "AAPL" });
    const error = await rejection(three.run(bad));
    assert.equal(error.code, "fit_failed");
    assert.match(error.message, /^AAPL: /);
    assert.equal(error.data.ticker, "AAPL");
    await three.run(shared.task(QUICK));
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

  test(
    "keeps the text of numbers: 1.0 and 1 mean different things to a forest",
    IN_RELEASE_TIER,
    async () => {
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
    },
  );
});

// Node has JSON.rawJSON and source access since version 21; TypeScript's library does not have them yet.
function raw(_key: string, value: unknown, { source }: { source?: string } = {}): unknown {
  const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };
  return typeof value === "number" ? rawJSON(source!) : value;
}

describe("an engine that does not start", { timeout: 600_000 }, () => {
  for (const python of ["/no/such/python", "/bin/false"]) {
    test(`because ${python} is no interpreter makes every task reject with engine_unavailable`, async () => {
      const pool = fixture.start({ python });
      const waiting = rejection(pool.run(fixture.task(QUICK)));
      const error = await rejection(pool.greeting);
      assert.equal(error.code, "engine_unavailable");
      assert.ok(error.message.includes(python));
      assert.equal(await waiting, error);
      await pool.close();
    });
  }

  for (const start of WHOLE_MATRIX ? (["fork", "spawn"] as const) : (["fork"] as const)) {
    test(`because a library is missing names it, if workers start by ${start}`, async () => {
      const pool = fixture.start({ libraries: ["catboost", "nosuch"], start });
      const error = await rejection(pool.run(fixture.task(QUICK)));
      assert.equal(error.code, "engine_unavailable");
      assert.match(error.message, /nosuch/);
    });
  }
});
