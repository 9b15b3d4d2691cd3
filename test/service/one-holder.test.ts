/** The embedded database takes one process; a second service on its folder is refused, a dead one's place is taken. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { Api } from "./api.testing.ts";
import { eventuallyTrue } from "./eventually.testing.ts";
import { payload, putInputs } from "./inputs.testing.ts";
import { endServices, launchServe, type Serving, serviceFolder, startServe } from "./service.testing.ts";

describe("two services on one data folder", { timeout: 600_000 }, () => {
  after(endServices);

  test("the second is refused with the process that holds it; the first goes on", async () => {
    const first = await startServe();
    const second = await launchServe({ folder: first.folder });
    const { code, signal } = await second.exited;
    assert.equal(signal, null);
    assert.ok(code !== 0, "it fails");
    assert.match(second.logs(), new RegExp(`\\b${first.pid}\\b`));
    assert.ok(second.logs().includes(first.dataDir), second.logs());
    assert.doesNotMatch(second.logs(), /\n {4}at /, "no stack");
    const api = new Api(first.url);
    await putInputs(api, "small");
    const done = await api.submit(payload(first.url, "small"), { prefer: "wait=60" });
    assert.equal(done.status, "Succeeded", JSON.stringify(done.error));
  });

  test("started at the same moment, one of them serves", async () => {
    const first = await launchServe({ folder: await serviceFolder({ isFirstStart: true }) });
    const all = [
      first,
      await launchServe({ folder: first.folder }),
      await launchServe({ folder: first.folder }),
    ];
    const refused = new Set<Serving>();
    for (const serving of all) void serving.exited.then(() => refused.add(serving));
    await eventuallyTrue("two are refused", () => refused.size === 2);
    const [holder] = all.filter((serving) => !refused.has(serving));
    await eventuallyTrue("one is ready", async () => {
      const answer = await fetch(`${holder!.url}/readyz`).catch(() => undefined);
      return answer?.ok === true;
    });
    for (const serving of refused) assert.match(serving.logs(), new RegExp(`\\b${holder!.pid}\\b`));
  });

  test("a new service takes over the folder of a killed one at once, and what lies there is the owner's alone", async () => {
    const killed = await startServe();
    await killed.kill9();
    const next = await startServe({ folder: killed.folder });
    assert.notEqual(next.pid, killed.pid);
    const { dataDir, terminate } = next;
    for (const name of readdirSync(dataDir)) {
      const { mode } = statSync(join(dataDir, name));
      if (statSync(join(dataDir, name)).isFile()) assert.equal(mode & 0o077, 0, name);
    }
    await terminate();
    const left = readdirSync(dataDir).filter((name) => /lock/.test(name));
    for (const name of left) assert.equal(readFileSync(join(dataDir, name), "utf8"), "", name);
  });
});
