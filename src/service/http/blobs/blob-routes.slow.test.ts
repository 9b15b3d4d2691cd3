import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, listenFor } from "../listening.testing.ts";
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

test("GET /v1/data lists blobs with their URLs, and refuses parameters that it does not know", async () => {
  const created = { createdAt: new Date("2026-01-05T08:30:09.038Z"), store: service.store, space: "" };
  const contents = { ticker_count: 2, dates: 10, start: "2024-01-02", end: "2024-01-15" };
  service.blobs.listed.push(
    { name: "feature_engine_1.json", kind: "features", bytes: 5, contents, ...created },
    { name: "ml_engine_1.json", kind: "output", bytes: null, contents: null, ...created },
  );
  const list = (query: string) => ask(service.port, { path: `/v1/data${query}` });
  const { status, text } = await list("?limit=5");
  assert.equal(status, 200, text);
  const created_at = "2026-01-05T08:30:09.038Z";
  const url = (name: string) => `${service.origin}/data/${name}`;
  assert.deepEqual(JSON.parse(text), {
    blobs: [
      {
        name: "feature_engine_1.json",
        url: url("feature_engine_1.json"),
        kind: "features",
        size: 5,
        created_at,
        ...contents,
      },
      { name: "ml_engine_1.json", url: url("ml_engine_1.json"), kind: "output", size: null, created_at },
    ],
    next_cursor: null,
  });
  for (const query of [
    "?kind=other",
    "?limit=0",
    "?limit=101",
    "?kinds=prices",
    `?cursor=${"x".repeat(201)}`,
  ])
    assert.deepEqual(codeOf(await list(query)), [400, "invalid_request"], query);
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
