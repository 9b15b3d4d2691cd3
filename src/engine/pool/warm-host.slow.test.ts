import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { bytesOf, engineProcesses, PoolFixture, QUICK, until } from "../../../test/engine/pool-fixture.ts";
import { WHOLE_MATRIX } from "../../../test/whole-matrix.testing.ts";
import { findEnvironment } from "../environment/environment.ts";
import { WarmHost } from "./host-process.ts";
import type { EnginePool } from "./pool.ts";

const linux = { skip: process.platform !== "linux" && "looks into /proc", timeout: 600_000 };
const { python } = findEnvironment();

let fixture: PoolFixture;
let warmHost: WarmHost;
beforeEach(() => {
  fixture = new PoolFixture();
  warmHost = new WarmHost({ python, libraries: ["catboost"], workFolder: fixture.folder });
});
afterEach(async () => {
  await warmHost.close();
  await fixture.remove();
});

const host = () => until(() => engineProcesses(fixture.folder).hosts[0]);

describe("a host that is started before its job", linux, () => {
  test("serves a pool that needs another library, with the same bytes and versions as a fresh host, and waits for another pool after that closes, without workers", async () => {
    const first = await host();
    const needs = [["catboost"], ["sklearn", "catboost"], ["catboost"]];
    for (const libraries of WHOLE_MATRIX ? needs : needs.slice(1)) {
      const [warm, fresh] = [fixture.start({ warmHost, libraries }), fixture.start({ libraries })];
      const run = (pool: EnginePool) => pool.run(fixture.task(QUICK));
      const [ofWarm, ofFresh] = await Promise.all([run(warm), run(fresh)]);
      assert.equal(bytesOf(ofWarm), bytesOf(ofFresh));
      assert.deepEqual((await warm.greeting).versions, (await fresh.greeting).versions);
      const cut = assert.rejects(warm.run(fixture.task(QUICK)));
      await Promise.all([warm.close(), fresh.close(), cut]);
      assert.deepEqual(engineProcesses(fixture.folder), { hosts: [first], workers: [] });
      assert.equal(warmHost.waits, true);
    }
  });

  test("costs nothing if it was killed while it waited", async () => {
    const killed = await host();
    process.kill(killed, "SIGKILL");
    await until(() => engineProcesses(fixture.folder).hosts.length === 0 || undefined);
    await fixture.start({ warmHost }).run(fixture.task(QUICK));
  });

  test("ends when it is closed without a pool, and together with its pool", async () => {
    await host();
    await warmHost.close();
    assert.deepEqual(engineProcesses(fixture.folder), { hosts: [], workers: [] });
    const other = new WarmHost({ python, libraries: ["catboost"], workFolder: fixture.folder });
    const pool = fixture.start({ warmHost: other });
    await pool.run(fixture.task(QUICK));
    await other.close();
    await pool.close();
    assert.deepEqual(engineProcesses(fixture.folder), { hosts: [], workers: [] });
  });
});
