import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { listenFor } from "../listening.testing.ts";
import {
  closeWithoutDefects,
  codeOf,
  freshName,
  type ListeningForBlobs,
  listenForBlobs,
} from "./blob-requests.testing.ts";

let service: ListeningForBlobs;
before(async () => {
  service = await listenForBlobs();
});
after(() => closeWithoutDefects(service));

test("an output can be read but not uploaded, and no other name is a blob", async () => {
  await service.store.put("data/ml_engine_x.json", "{}");
  assert.equal((await service.get("ml_engine_x.json")).status, 200);
  const refused = await service.put("nn_engine_x.json", "{}");
  assert.deepEqual(
    [...codeOf(refused), refused.headers.allow],
    [405, "method_not_allowed", "DELETE, GET, HEAD"],
  );
  for (const name of [
    "feature_engine_.json",
    "feature_engine_a.txt",
    "other.json",
    `feature_engine_${"x".repeat(65)}.json`,
    "..%2f..%2fetc%2fpasswd",
    "feature_engine_a%00.json",
  ]) {
    assert.deepEqual(codeOf(await service.get(name)), [404, "not_found"], name);
    assert.deepEqual(codeOf(await service.put(name, "[]")), [400, "invalid_request"], name);
  }
});

test("two callers may have different blobs of one name, and each can access only its own", async (t) => {
  const shared = await listenFor(t, { auth: "keys" });
  const [ann, ben] = [
    await shared.keys.create("ann", ["read", "write"]),
    await shared.keys.create("ben", ["read", "write"]),
  ];
  const as = (token: string, method: string, body?: string) =>
    fetch(`${shared.origin}/data/feature_engine_one.json`, {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body }),
    });
  assert.equal((await as(ann.token, "PUT", "ann")).status, 201);
  assert.equal((await as(ben.token, "GET")).status, 404);
  assert.equal((await as(ben.token, "DELETE")).status, 404);
  assert.equal((await as(ben.token, "PUT", "ben")).status, 201, "as if there were none");
  assert.equal(await (await as(ann.token, "GET")).text(), "ann");
  assert.equal(await (await as(ben.token, "GET")).text(), "ben");
  assert.equal((await as(ben.token, "DELETE")).status, 204);
  assert.equal(await (await as(ann.token, "GET")).text(), "ann");
  assert.equal((await as(ben.token, "GET")).status, 404);
});

test("DELETE removes an input or an output, respects If-Match, and refuses a blob in use", async () => {
  const name = freshName();
  const { headers } = await service.put(name, "[1]");
  assert.deepEqual(codeOf(await service.remove(name, { "if-match": '"other"' })), [
    412,
    "precondition_failed",
  ]);
  service.blobs.inUse.add(name);
  assert.deepEqual(codeOf(await service.remove(name)), [409, "blob_in_use"]);
  service.blobs.inUse.delete(name);
  const gone = await service.remove(name, { "if-match": headers.etag! });
  assert.deepEqual([gone.status, gone.text], [204, ""]);
  for (const headers of [{}, { "if-match": "*" }] as Record<string, string>[])
    assert.deepEqual(codeOf(await service.remove(name, headers)), [404, "not_found"]);
  await service.store.put("data/ml_engine_done.json", "{}");
  assert.equal((await service.remove("ml_engine_done.json")).status, 204);
  assert.deepEqual(codeOf(await service.remove("other.json")), [404, "not_found"]);
});
