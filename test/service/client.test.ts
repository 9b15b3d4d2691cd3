/** The typed client on a real service. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { MucastApiError, MucastClient, type StoredEvent } from "../../src/client/index.ts";
import { hold, release } from "./core.testing.ts";
import { FEATURES, PRICES, payload, RIDGE } from "./inputs.testing.ts";
import { endServices, type Serving, startServe } from "./service.testing.ts";
import { type FakeStorage, startFakeStorage } from "./storage.testing.ts";

describe("the client", { timeout: 600_000 }, () => {
  let serving: Serving;
  let storage: FakeStorage;
  let client: MucastClient;
  let urls: { feature_url: string; data_extractor_url: string };

  before(async () => {
    storage = await startFakeStorage();
    serving = await startServe({ env: storage.env });
    client = new MucastClient({ baseUrl: serving.url });
    const put = async (name: string, text: string) => (await client.putBlob(name, text)).url;
    urls = {
      feature_url: await put("feature_engine_c.json", FEATURES),
      data_extractor_url: await put("data_extractor_c.json", PRICES),
    };
  });
  after(async () => {
    await endServices();
    await storage?.stop();
  });

  /** The payload of a job that waits in the middle of its reading until the blobs of `key` are released. */
  function held(key: string): string {
    hold(storage, key);
    return payload(storage.url, key);
  }

  test("uploads, runs, follows and reads", async () => {
    assert.equal((await client.putBlob("feature_engine_c.json", FEATURES)).created, false);
    const types: string[] = [];
    const onEvent = ({ type }: { type: string }) => types.push(type);
    const { id, result, warnings } = await client.runAndWait(
      "run_ml_job",
      { ...urls, config: RIDGE },
      { onEvent },
    );
    assert.deepEqual([types[0], types[1], types.at(-1)], ["queued", "started", "succeeded"]);
    assert.ok(Array.isArray(warnings));
    const { mu } = (await (await client.getBlob(result!.output_name)).json()) as {
      mu: Record<string, number>;
    };
    assert.deepEqual(Object.keys(mu), ["AAPL", "MSFT"]);
    const seqs: number[] = [];
    for await (const { seq } of client.events(id, { lastEventId: 1 })) seqs.push(seq);
    assert.deepEqual(
      seqs,
      seqs.map((_, index) => index + 2),
    );
    assert.equal((await client.events(id, { lastEventId: seqs.at(-1) }).next()).done, true);
  });

  test("submits the same job once under one key, in whatever way its config is given", async () => {
    const submitted = await Promise.all([
      client.runMlJob({ ...urls, config: RIDGE }, { idempotencyKey: "once" }),
      client.runMlJob({ ...urls, config: JSON.parse(RIDGE) }, { idempotencyKey: "once" }),
      client.runMlJob(payload(serving.url, "c"), { idempotencyKey: "once" }),
    ]);
    assert.equal(new Set(submitted.map(({ id }) => id)).size, 1);
    const ended = await client.runMlJob({ ...urls, config: RIDGE }, { idempotencyKey: "once", wait: 60 });
    assert.equal(ended.status, "Succeeded");
    const ids = [];
    for await (const { id } of client.allOperations({ limit: 1 })) ids.push(id);
    assert.equal(new Set(ids).size, 2);
  });

  test("tells a refused payload by its problem", async () => {
    const config = { "ML params": { model: "forest", n_split: 3 } };
    await assert.rejects(client.runAndWait("run_ml_job", { ...urls, config }), (error) => {
      assert.ok(error instanceof MucastApiError);
      assert.equal(error.status, 400);
      assert.match(JSON.stringify(error.problem.faults), /n_split/);
      return true;
    });
  });

  test("tells a job that was cancelled by its problem, with the operation", async () => {
    const running = Promise.withResolvers<string>();
    const onEvent = ({ type, operation_id }: Pick<StoredEvent, "operation_id"> & { type: string }) => {
      if (type === "started") running.resolve(operation_id);
    };
    const waiting = client.runAndWait("run_ml_job", held("canceled"), { onEvent });
    const refused = assert.rejects(waiting, (error) => {
      assert.ok(error instanceof MucastApiError);
      assert.deepEqual([error.code, error.operation?.status], ["canceled", "Canceled"]);
      return true;
    });
    await client.cancelOperation(await running.promise);
    await refused;
  });

  test("waits on while the service is killed and comes back", async () => {
    const started = Promise.withResolvers<void>();
    const seqs: number[] = [];
    const onEvent = ({ seq, type }: { seq: number; type: string }) => {
      seqs.push(seq);
      if (type === "started") started.resolve();
    };
    const waiting = client.runAndWait("run_ml_job", held("waiting"), { onEvent });
    await started.promise;
    await serving.kill9();
    release(storage, "waiting");
    await startServe({ folder: serving.folder, port: serving.port, env: storage.env });
    assert.equal((await waiting).status, "Succeeded");
    assert.deepEqual(
      seqs,
      seqs.map((_, index) => index + 1),
      "no event was missed, and none came twice",
    );
  });
});
