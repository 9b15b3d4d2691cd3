/** Storage that fails in the ways in which storage fails: the operation ends Failed and says why. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { OperationView } from "../../src/contract/operation-view.ts";
import { Core, startCore } from "./core.testing.ts";
import { DATABASES } from "./databases.testing.ts";
import { FEATURES, PRICES, payload, RIDGE } from "./inputs.testing.ts";
import { endServices, serviceFolder, startServe } from "./service.testing.ts";
import { type Behaviour, startFakeStorage } from "./storage.testing.ts";

describe("storage", { timeout: 300_000, concurrency: 2 }, () => {
  let core: Core;
  before(async () => {
    core = await startCore(DATABASES[0]!);
  });
  after(async () => {
    await endServices();
    await core?.storage.stop();
  });

  function assertFailed(ended: OperationView, code: string): void {
    assert.deepEqual([ended.status, ended.error?.code, ended.result], ["Failed", code, null]);
    const data = join(core.serving.dataDir, "blobs/data");
    assert.deepEqual(
      readdirSync(data).filter((name) => name.includes(ended.id)),
      [],
    );
  }

  const cut = Math.floor(FEATURES.length / 2);
  const faults: readonly (readonly [string, Behaviour, string])[] = [
    ["that answers 503 again and again", { kind: "status", status: 503 }, "blob_unavailable"],
    ["that refuses", { kind: "status", status: 403 }, "blob_unavailable"],
    ["that has no such blob", { kind: "status", status: 404 }, "blob_not_found"],
    ["that redirects", { kind: "redirect", location: "http://127.0.0.1:1/secret" }, "url_not_allowed"],
    ["that cuts every answer short", { kind: "truncate", after: 100 }, "blob_unavailable"],
    ["whose blob changes between two ranges", { kind: "replace", after: cut }, "blob_unavailable"],
  ];
  for (const [i, [what, behaviour, code]] of faults.entries()) {
    test(`${what} fails the operation with ${code}`, async () => {
      const { api, storage } = core;
      storage.put(`data_extractor_fault${i}.json`, PRICES);
      storage.put(`feature_engine_fault${i}.json`, FEATURES, behaviour);
      const { id } = await api.submit(payload(storage.url, `fault${i}`));
      const ended = await api.ended(id);
      assertFailed(ended, code);
      assert.match(String(ended.error!.source), new RegExp(`feature_engine_fault${i}\\.json$`));
    });
  }

  test("with half a JSON document fails it with unreadable_blob and the offset", async () => {
    const { api, storage } = core;
    storage.put("data_extractor_half.json", PRICES);
    storage.put("feature_engine_half.json", FEATURES.slice(0, cut));
    const { id } = await api.submit(payload(storage.url, "half"));
    const ended = await api.ended(id);
    assertFailed(ended, "unreadable_blob");
    assert.equal(ended.error!.offset, cut);
  });

  test("whose own blob was never put fails it with blob_not_found", async () => {
    const { id } = await core.api.submit(payload(core.serving.url, "never"));
    assertFailed(await core.api.ended(id), "blob_not_found");
  });

  test("that stalls keeps the job Running, and cancel still stops it", async () => {
    const { api, storage } = core;
    storage.put("data_extractor_stall.json", PRICES);
    storage.put("feature_engine_stall.json", FEATURES, { kind: "stall", after: 1_000 });
    const { id } = await api.submit(payload(storage.url, "stall"));
    await storage.asked("feature_engine_stall.json");
    await api.cancel(id);
    assert.equal((await api.ended(id)).status, "Canceled");
  });
});

describe("a full disk for the output", { timeout: 120_000 }, () => {
  let disk: string | undefined;
  let core: Core | undefined;
  after(async () => {
    await endServices();
    await core?.storage.stop();
    if (disk !== undefined) spawnSync("umount", [disk]);
  });

  test("fails the operation with output_failed, and the service lives", async (t) => {
    const folder = join(await serviceFolder(), "blobs");
    mkdirSync(folder);
    // Room for status blobs, not for an output.
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=16k,mode=700", "none", folder]);
    if (mounted.status !== 0)
      return t.skip("NO FILE SYSTEM CAN BE MOUNTED HERE, so a full disk is not tried");
    disk = folder;
    core = await startFull(folder);
    const { api, storage } = core;
    const { id } = await api.submit(payload(storage.url, "small", RIDGE));
    const ended = await api.ended(id);
    assert.deepEqual([ended.status, ended.error?.code], ["Failed", "output_failed"]);
    const data = join(folder, "data");
    assert.deepEqual(existsSync(data) ? readdirSync(data) : [], []);
    assert.equal(spawnSync("mount", ["-o", "remount,size=64m", folder]).status, 0);
    const again = await api.submit(payload(storage.url, "small", RIDGE), { prefer: "wait=60" });
    assert.equal(again.status, "Succeeded", JSON.stringify(again.error));
  });
});

/** A service whose blobs lie in `folder`; its inputs come from the fake storage. */
async function startFull(folder: string): Promise<Core> {
  const storage = await startFakeStorage();
  storage.put("feature_engine_small.json", FEATURES);
  storage.put("data_extractor_small.json", PRICES);
  return new Core(await startServe({ env: { ...storage.env, BLOB_URL: folder } }), storage);
}
