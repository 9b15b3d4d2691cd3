import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";
import { after, before, test } from "node:test";
import { ask, eventually, listenFor } from "../listening.testing.ts";
import { uploadedBlobSchema } from "../openapi/component-schemas.ts";
import {
  closeWithoutDefects,
  codeOf,
  freshName,
  type ListeningForBlobs,
  listenForBlobs,
} from "./blob-requests.testing.ts";
import { FakeFullStore } from "./fake-full-store.testing.ts";

const LIMIT = 2 ** 21;

let service: ListeningForBlobs;
before(async () => {
  service = await listenForBlobs({ upload_bytes: LIMIT });
});
after(() => closeWithoutDefects(service));

test("PUT answers 201 for a new blob and 200 for a replaced one, with its URL, size and version", async () => {
  const name = freshName();
  const first = await service.put(name, "[1]");
  const uploaded = uploadedBlobSchema.parse(JSON.parse(first.text));
  assert.deepEqual([first.status, uploaded.name, uploaded.size], [201, name, 3]);
  assert.equal(uploaded.url, `${service.origin}/data/${name}`);
  assert.deepEqual(
    [first.headers.etag, (await service.get(name)).headers.etag],
    [uploaded.etag, uploaded.etag],
  );
  const second = await service.put(name, "[1,2]");
  assert.equal(second.status, 200);
  assert.notEqual(second.headers.etag, first.headers.etag);
  assert.equal((await service.get(name)).text, "[1,2]");
});

test("PUT accepts any Content-Type, none, and a malformed one", async () => {
  for (const type of [
    "application/json",
    "text/plain",
    "application/octet-stream",
    "multipart/form-data",
    "odd",
    "",
  ]) {
    const answer = await service.put(freshName(), "[]", type === "" ? {} : { "content-type": type });
    assert.equal(answer.status, 201, type);
  }
});

test("PUT refuses a part of a blob", async () => {
  const name = freshName();
  await service.put(name, "[1,2]");
  const answer = await service.put(name, "[1", { "content-range": "bytes 0-1/5" });
  assert.deepEqual(codeOf(answer), [400, "invalid_request"]);
  assert.equal((await service.get(name)).text, "[1,2]");
});

test("a blob may be empty", async () => {
  const name = freshName();
  assert.equal((await service.put(name, "")).status, 201);
  const answer = await service.get(name);
  assert.deepEqual([answer.status, answer.text, answer.headers["content-length"]], [200, "", "0"]);
});

test("a large blob is streamed both ways, beyond the limit of other bodies", async () => {
  const bytes = randomBytes(LIMIT);
  const url = `${service.origin}/data/${freshName()}`;
  const answer = await fetch(url, { method: "PUT", body: bytes });
  assert.equal(answer.status, 201);
  const read = Buffer.from(await (await fetch(url)).arrayBuffer());
  const digest = (of: Buffer) => createHash("sha256").update(of).digest("hex");
  assert.equal(digest(read), digest(bytes));
});

test("PUT respects its conditions, even when another upload ends meanwhile", async () => {
  const name = freshName();
  assert.deepEqual(codeOf(await service.put(name, "a", { "if-match": "*" })), [412, "precondition_failed"]);
  const first = await service.put(name, "a", { "if-none-match": "*" });
  assert.equal(first.status, 201);
  assert.deepEqual(codeOf(await service.put(name, "b", { "if-none-match": "*" })), [
    412,
    "precondition_failed",
  ]);
  assert.equal((await service.put(name, "b", { "if-match": first.headers.etag! })).status, 200);
  assert.deepEqual(codeOf(await service.put(name, "c", { "if-match": first.headers.etag! })), [
    412,
    "precondition_failed",
  ]);
  const slow = service.beginPut(name, {
    "content-length": 2,
    "if-match": (await service.get(name)).headers.etag!,
  });
  await slow.write("d");
  await service.put(name, "between");
  await slow.write("d");
  assert.equal(await slow.status, 412);
  assert.equal((await service.get(name)).text, "between");
});

test("only one of two uploads creates the same blob", async () => {
  const name = freshName();
  const uploads = ["a", "b"].map((text) => ({
    text,
    upload: service.beginPut(name, { "content-length": 2, "if-none-match": "*" }),
  }));
  for (const { text, upload } of uploads) await upload.write(text);
  for (const { text, upload } of uploads) await upload.write(text);
  const statuses = await Promise.all(uploads.map(({ upload }) => upload.status));
  assert.deepEqual(statuses.toSorted(), [201, 412]);
  assert.equal((await service.get(name)).text, statuses[0] === 201 ? "aa" : "bb");
});

test("a blob over the limit is too_large, whether its length is stated or not, and leaves no file", async () => {
  const name = freshName();
  const refused = await ask(service.port, {
    method: "PUT",
    path: `/data/${name}`,
    headers: { "content-length": LIMIT + 1, expect: "100-continue" },
  });
  assert.deepEqual(codeOf(refused), [413, "too_large"]);
  const files = await service.files();
  const streamed = await fetch(`${service.origin}/data/${name}`, {
    method: "PUT",
    body: Buffer.alloc(LIMIT + 1, 32),
  });
  assert.equal(streamed.status, 413);
  const chunked = await ask(
    service.port,
    { method: "PUT", path: `/data/${name}`, headers: { "transfer-encoding": "chunked" } },
    " ".repeat(LIMIT + 1),
  );
  assert.deepEqual(codeOf(chunked), [413, "too_large"]);
  assert.deepEqual(await service.files(), files);
  assert.equal((await service.get(name)).status, 404);
});

test("a caller that expects 100-continue gets it, or a refusal", async () => {
  const name = freshName();
  const headers = { "content-length": 2, expect: "100-continue" };
  const wanted = request({
    host: "127.0.0.1",
    port: service.port,
    method: "PUT",
    path: `/data/${name}`,
    headers,
  });
  wanted.on("continue", () => wanted.end("[]"));
  const [answer] = await once(wanted, "response");
  answer.resume();
  assert.equal(answer.statusCode, 201);
  const unwanted = await ask(service.port, { method: "PUT", path: "/data/ml_engine_x.json", headers });
  assert.deepEqual(codeOf(unwanted), [405, "method_not_allowed"]);
});

test("an upload that breaks off keeps the previous blob", async () => {
  const name = freshName();
  await service.put(name, "whole");
  const files = await service.files();
  const broken = service.beginPut(name, { "content-length": 10 });
  broken.status.catch(() => undefined);
  broken.sent.on("error", () => undefined);
  await broken.write("par");
  await eventually(async () => (await service.files()).length !== files.length);
  broken.sent.destroy();
  await eventually(async () => (await service.files()).length === files.length);
  assert.equal((await service.get(name)).text, "whole");
});

test("an upload needs room before its bytes come, or as they come", async (t) => {
  const { uploads } = service.blobs;
  t.after(() => {
    service.blobs.room = Number.POSITIVE_INFINITY;
  });
  service.blobs.room = 10;
  uploads.length = 0;
  // An upload that an earlier test cut off may still have its hidden file.
  const stored = async () => (await service.files()).filter((name) => !name.startsWith("."));
  const before = await stored();
  assert.deepEqual(codeOf(await service.put(freshName(), "x".repeat(11))), [507, "quota_exceeded"]);
  const path = `/data/${freshName()}`;
  const sent = { method: "PUT", path, headers: { "transfer-encoding": "chunked" } };
  assert.deepEqual(codeOf(await ask(service.port, sent, "x".repeat(11))), [507, "quota_exceeded"]);
  assert.deepEqual(uploads, []);
  assert.equal((await service.put(freshName(), "x".repeat(10))).status, 201);
  assert.deepEqual(uploads, [10]);
  assert.equal((await stored()).length, before.length + 1);
  await eventually(async () => (await service.files()).length === (await stored()).length);
});

for (const [errno, status, code, words] of [
  ["ENOSPC", 507, "storage_full", /could not be stored: .*no space left on the device/],
  ["EDQUOT", 507, "storage_full", /the disk quota is used up/],
  ["EROFS", 502, "storage_failed", /the file system is read-only/],
] as const) {
  test(`a storage that fails with ${errno} makes an upload ${code}, with a detail about an upload`, async (t) => {
    const fake = await listenFor(t, {}, { store: new FakeFullStore(errno) });
    const sent = { method: "PUT", path: "/data/feature_engine_1.json", headers: { "content-length": 2 } };
    const answer = await ask(fake.port, sent, "[]");
    assert.deepEqual(codeOf(answer), [status, code]);
    const { title, detail } = JSON.parse(answer.text);
    assert.match(detail, words);
    assert.doesNotMatch(`${title} ${detail}`, /result|output/);
    assert.deepEqual(fake.blobs.uploads, []);
  });
}
