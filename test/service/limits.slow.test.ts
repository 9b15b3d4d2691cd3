/** The time limits that a caller can reach; the others are a suite of core.slow.test.ts. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Api } from "./api.testing.ts";
import { hold } from "./core.testing.ts";
import { FEATURES, PRICES, payload } from "./inputs.testing.ts";
import { endServices, startServe } from "./service.testing.ts";
import { type FakeStorage, startFakeStorage } from "./storage.testing.ts";

describe("the limit of", { timeout: 600_000 }, () => {
  let storage: FakeStorage;
  let api: Api;
  before(async () => {
    storage = await startFakeStorage();
    const env = { ...storage.env, MUCAST_JOB_SECONDS: "1" };
    api = new Api((await startServe({ env })).url);
  });
  after(async () => {
    await endServices();
    await storage?.stop();
  });

  test("a job's time: Failed, timed_out, no output, and the next job runs", async () => {
    hold(storage, "endless");
    const ended = await api.submit(payload(storage.url, "endless"), { prefer: "wait=60" });
    assert.deepEqual([ended.status, ended.error?.code], ["Failed", "timed_out"]);
    assert.equal((await api.ask("GET", `/data/ml_engine_${ended.id}.json`)).status, 404);
    storage.put("feature_engine_quick.json", FEATURES);
    storage.put("data_extractor_quick.json", PRICES);
    const again = await api.submit(payload(storage.url, "quick"), { prefer: "wait=60" });
    assert.match(again.status, /^(Succeeded|Failed)$/);
  });
});
