import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as settled } from "node:timers/promises";
import type { BlobStore } from "../blob/store.ts";
import { MucastError } from "../contract/errors/errors.ts";
import type { Database } from "./database/database.ts";
import { Readiness } from "./readiness.ts";

for (const seconds of [0.5, 2, 3.5, 4.9]) {
  test(`a database that was back for 3.5 s may fail for half a minute again, ${seconds} s after a check`, async (t) => {
    let now = 0;
    t.mock.method(performance, "now", () => now);
    t.mock.timers.enable({ apis: ["setTimeout"] });
    let isAway = false;
    const write = async () => {
      if (isAway) throw new MucastError("unavailable", "the database cannot be reached");
    };
    const [put, remove] = [async () => undefined, async () => undefined];
    const readiness = new Readiness({
      database: { kind: "postgres", write } as unknown as Database,
      store: { url: "", put, remove } as unknown as BlobStore,
      blobFolder: undefined,
      isOneCaller: true,
      dataDir: undefined,
      phase: () => "accepting",
    });
    readiness.start();
    t.after(() => readiness.close());
    /** Lets time pass, and the timers with it. @returns how often the service was ready, and how often not. */
    const pass = async (tenths: number) => {
      const seen = { ready: 0, failing: 0 };
      for (let i = 0; i < tenths; i++) {
        now += 100;
        t.mock.timers.tick(100);
        await settled();
        seen[(await readiness.checks()).every(({ ok }) => ok) ? "ready" : "failing"]++;
      }
      return seen;
    };
    assert.deepEqual(await pass(seconds * 10), { ready: seconds * 10, failing: 0 });
    isAway = true;
    assert.deepEqual(await pass(120), { ready: 120, failing: 0 });
    isAway = false;
    assert.deepEqual(await pass(35), { ready: 35, failing: 0 });
    isAway = true;
    assert.deepEqual(await pass(260), { ready: 260, failing: 0 });
    await pass(50);
    assert.deepEqual(await pass(10), { ready: 0, failing: 10 });
    isAway = false;
    await pass(10);
    assert.deepEqual(await pass(10), { ready: 10, failing: 0 });
  });
}
