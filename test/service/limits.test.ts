/** Every limit a caller can run into says which one it is, and the service goes on. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Api, problemOf } from "./api.testing.ts";
import { type Core, hold, startCore } from "./core.testing.ts";
import { DATABASES } from "./databases.testing.ts";
import { eventuallyTrue } from "./eventually.testing.ts";
import { FEATURES, PRICES, payload, putInputs } from "./inputs.testing.ts";
import { endServices, startServe } from "./service.testing.ts";

/** Sends a body piece by piece, without telling its length before. @returns the status. */
function sendPieces(url: string, piece: Buffer, pieces: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "PUT", headers: { "transfer-encoding": "chunked" } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode!);
    });
    // The service may answer and close before it has read all.
    sent.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE" && error.code !== "ECONNRESET") reject(error);
    });
    for (let i = 0; i < pieces; i++) sent.write(piece);
    sent.end();
  });
}

describe("limits", { timeout: 600_000 }, () => {
  let core: Core;
  before(async () => {
    core = await startCore(DATABASES[0]!, {
      MUCAST_CORES: "1",
      MUCAST_CONCURRENT_JOBS: "1",
      MUCAST_BODY_BYTES: "40000",
      MUCAST_UPLOAD_BYTES: String(2 ** 22),
      MUCAST_QUEUED_PER_CALLER: "3",
      MUCAST_BLOB_TICKERS: "50",
    });
  });
  after(async () => {
    await endServices();
    await core?.storage.stop();
  });

  test("of a request's body", async () => {
    const body = core.own().replace("{", `{${" ".repeat(50_000)}`);
    problemOf(await core.api.post("run_ml_job", body), 413, "too_large");
  });

  test("of an upload, told before or met on the way: nothing is left, what was there stays", async () => {
    const names = () => readdirSync(join(core.serving.dataDir, "blobs/data")).toSorted();
    const before = names();
    const large = Buffer.alloc(2 ** 22 + 1, 32);
    problemOf(await core.api.put("feature_engine_large.json", large), 413, "too_large");
    problemOf(await core.api.put("feature_engine_small.json", large), 413, "too_large");
    const url = `${core.serving.url}/data/feature_engine_large.json`;
    assert.equal(await sendPieces(url, Buffer.alloc(2 ** 20), 5), 413);
    assert.deepEqual(names(), before);
    assert.equal((await core.api.ask("GET", "/data/feature_engine_small.json")).text, FEATURES);
    const right = Buffer.alloc(2 ** 22, 32);
    assert.equal((await core.api.put("feature_engine_large.json", right)).status, 201);
  });

  test("of operations that wait: rate_limited with Retry-After, until some have gone", async () => {
    const held = await core.heldRunning();
    const waiting = [];
    for (let i = 0; i < 3; i++) waiting.push(await core.api.submit(core.own()));
    const refused = await core.api.post("run_ml_job", core.own());
    problemOf(refused, 429, "rate_limited");
    assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
    await core.api.cancel(waiting[0]!.id);
    await core.api.submit(core.own());
    held.release();
    for (const { id } of waiting.slice(1)) assert.equal((await core.api.ended(id)).status, "Succeeded");
  });

  test("of descriptors: idle connections that would use them all up cost the service nothing", async (t) => {
    const through = ["sh", "-c", 'ulimit -n 512; exec "$@"', "sh"];
    const narrow = await startServe({ through, env: { MUCAST_CORES: "1", MUCAST_CONCURRENT_JOBS: "1" } });
    const api = new Api(narrow.url);
    const sockets = Array.from({ length: 700 }, () => connect(narrow.port, "127.0.0.1"));
    t.after(() => {
      for (const socket of sockets) socket.destroy();
    });
    await Promise.all(
      sockets.map((socket) =>
        once(
          socket.on("error", () => undefined),
          "connect",
        ),
      ),
    );
    for (let i = 0; i < 20; i++) assert.equal((await api.ask("GET", "/readyz")).status, 200);
    for (const socket of sockets) socket.destroy();
    await eventuallyTrue(
      "it serves again",
      async () => (await api.ask("GET", "/v1/operations")).status === 200,
    );
    await putInputs(api, "small");
    const done = await api.submit(payload(narrow.url, "small"), { prefer: "wait=60" });
    assert.equal(done.status, "Succeeded", JSON.stringify(done.error));
    assert.doesNotMatch(narrow.logs(), /EMFILE/);
    const { text } = await api.ask("GET", "/metrics");
    assert.match(text, /^mucast_http_connections_refused_total [1-9]/m);
  });

  test("of the tickers of a blob, also where a job process reads it", async () => {
    const { api, storage } = core;
    storage.put("feature_engine_many.json", FEATURES);
    const prices = Array.from({ length: 51 }, (_, i) => [`T${i}`, { dates: [], close: [] }]);
    storage.put("data_extractor_many.json", JSON.stringify(Object.fromEntries(prices)));
    const { id } = await api.submit(payload(storage.url, "many"));
    const { error } = await api.ended(id);
    assert.deepEqual([error?.code, error?.ticker], ["too_large", "T50"]);
    assert.match(error!.detail, /one more than the 50 tickers .*MUCAST_BLOB_TICKERS/);
  });

  test("of a job's time, and of requests a minute", async (t) => {
    const env = { ...core.storage.env, MUCAST_JOB_SECONDS: "1", MUCAST_REQUESTS_PER_MINUTE: "30" };
    const serving = await startServe({ env });
    const api = new Api(serving.url);
    await t.test("Failed, timed_out, no output, and the next job runs", async () => {
      hold(core.storage, "endless");
      const ended = await api.submit(payload(core.storage.url, "endless"), { prefer: "wait=60" });
      assert.deepEqual([ended.status, ended.error?.code], ["Failed", "timed_out"]);
      assert.equal((await api.ask("GET", `/data/ml_engine_${ended.id}.json`)).status, 404);
      core.storage.put("feature_engine_quick.json", FEATURES);
      core.storage.put("data_extractor_quick.json", PRICES);
      const again = await api.submit(payload(core.storage.url, "quick"), { prefer: "wait=60" });
      assert.match(again.status, /^(Succeeded|Failed)$/);
    });
    await t.test("rate_limited with Retry-After, and health is still told", async () => {
      const answers = [];
      for (let i = 0; i < 40; i++) answers.push(await api.ask("GET", "/v1/operations"));
      const refused = answers.filter(({ status }) => status !== 200);
      // The three requests before may count too.
      assert.ok(refused.length > 0 && refused.length <= 14, `${refused.length} refused`);
      for (const answer of refused) {
        problemOf(answer, 429, "rate_limited");
        assert.match(answer.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
      }
      assert.equal((await api.ask("GET", "/healthz")).status, 200);
    });
  });
});
