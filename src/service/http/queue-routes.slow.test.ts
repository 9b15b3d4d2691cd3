import assert from "node:assert/strict";
import { test } from "node:test";
import { queueSchema } from "../../contract/api/queue-view.ts";
import { ask, listenFor } from "./listening.testing.ts";

test("/v1/queue tells a caller its scopes, and only the totals of other callers", async (t) => {
  const { port, keys, operations } = await listenFor(t, { auth: "keys" });
  const [writer, reader] = [
    await keys.create("a writer", ["write", "read"]),
    await keys.create("b", ["read"]),
  ];
  const other = { subject: "key:other", scopes: new Set(["write"] as const) };
  const payload = JSON.stringify({
    feature_url: "https://blobs.example/f.json",
    data_extractor_url: "https://blobs.example/d.json",
    config: { "ML params": { model: "ridge" } },
  });
  await operations.submit(other, { operation: "run_ml_job", payload });
  const asked = async (token: string) => {
    const { status, text } = await ask(port, {
      path: "/v1/queue",
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(status, 200, text);
    return queueSchema.parse(JSON.parse(text));
  };
  const seen = await asked(writer.token);
  assert.deepEqual(seen.scopes, ["read", "write"]);
  assert.deepEqual([seen.waiting, seen.running, seen.own], [1, 0, { waiting: 0, running: 0 }]);
  assert.deepEqual((await asked(reader.token)).scopes, ["read"]);
  assert.equal((await ask(port, { path: "/v1/queue" })).status, 401);
});
