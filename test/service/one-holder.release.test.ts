/** The embedded database accepts one process; a second service on its folder is refused, and a dead one is replaced. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { Api } from "./api.testing.ts";
import { eventuallyTrue } from "./eventually.testing.ts";
import { payload, putInputs } from "./inputs.testing.ts";
import {
  endServices,
  launchServe,
  type Serving,
  serviceFolder,
  silentEngine,
  startServe,
} from "./service.testing.ts";

after(endServices);

test("exactly one of several services on a new data folder serves and continues, whether started at once or later; the others name its process", {
  timeout: 600_000,
}, async () => {
  const folder = await serviceFolder({ isFirstStart: true });
  const all = await Promise.all([1, 2, 3].map(() => launchServe({ folder })));
  const refused = new Set<Serving>();
  for (const serving of all) void serving.exited.then(() => refused.add(serving));
  await eventuallyTrue("two are refused", () => refused.size === 2);
  const [holder] = all.filter((serving) => !refused.has(serving)) as [Serving];
  await eventuallyTrue("one is ready", async () => {
    const answer = await fetch(`${holder.url}/readyz`).catch(() => undefined);
    return answer?.ok === true;
  });
  for (const second of [...refused, await launchServe({ folder })]) {
    const { code, signal } = await second.exited;
    assert.equal(signal, null);
    assert.ok(code !== 0, "it fails");
    assert.match(second.logs(), new RegExp(`\\b${holder.pid}\\b`));
    assert.ok(second.logs().includes(holder.dataDir), second.logs());
    assert.doesNotMatch(second.logs(), /\n {4}at /, "no stack");
  }
  const api = new Api(holder.url);
  await putInputs(api, "small");
  const done = await api.submit(payload(holder.url, "small"), { prefer: "wait=60" });
  assert.equal(done.status, "Succeeded", JSON.stringify(done.error));

  await holder.kill9();
  await assertTakenOver(holder);
});

/** A new service replaces it at once; only the owner can read the files, and an orderly end leaves no lock. */
async function assertTakenOver(killed: Serving): Promise<void> {
  const { folder } = killed;
  const next = await startServe({ folder, env: await silentEngine(folder) });
  assert.notEqual(next.pid, killed.pid);
  const { dataDir, terminate } = next;
  for (const name of readdirSync(dataDir).filter((file) => !file.includes("readiness"))) {
    const { mode } = statSync(join(dataDir, name));
    if (statSync(join(dataDir, name)).isFile()) assert.equal(mode & 0o077, 0, name);
  }
  await terminate();
  const left = readdirSync(dataDir).filter((name) => /lock/.test(name));
  for (const name of left) assert.equal(readFileSync(join(dataDir, name), "utf8"), "", name);
}
