import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { after, type TestContext, test } from "node:test";
import { outputFailed } from "../../blob/blob-errors.ts";
import { causeOf } from "../../contract/errors/system-error.ts";
import { uploadedBlobSchema } from "./blob-routes.ts";
import { ask, codeOf, eventually, listen, listenFor } from "./listening.testing.ts";

const LIMIT = 2 ** 21;
type Headers = Record<string, string | number>;

const service = await listen({ upload_bytes: LIMIT });
after(async () => {
  await service.close();
  const isDefect = (line: string) => line.includes("defect");
  assert.deepEqual(service.logged.filter(isDefect), []);
});

let count = 0;
const freshName = () => `feature_engine_b${++count}.json`;
const get = (name: string, headers: Headers = {}, method = "GET") =>
  ask(service.port, { method, path: `/data/${name}`, headers });
const put = (name: string, body: string, headers: Headers = {}) =>
  ask(service.port, { method: "PUT", path: `/data/${name}`, headers }, body);

/** Starts an upload whose pieces the test sends one by one. */
function beginPut(name: string, headers: Headers) {
  const { port } = service;
  const sent = request({ port, method: "PUT", path: `/data/${name}`, headers, agent: false });
  const status = once(sent, "response").then(([answer]) => {
    answer.resume();
    return answer.statusCode as number;
  });
  const write = (text: string) => new Promise<void>((resolve) => void sent.write(text, () => resolve()));
  return { sent, status, write };
}

test("PUT answers 201 for a new blob and 200 for a replaced one, with its URL, size and version", async () => {
  const name = freshName();
  const first = await put(name, "[1]");
  const uploaded = uploadedBlobSchema.parse(JSON.parse(first.text));
  assert.deepEqual([first.status, uploaded.name, uploaded.size], [201, name, 3]);
  assert.equal(uploaded.url, `${service.origin}/data/${name}`);
  assert.deepEqual([first.headers.etag, (await get(name)).headers.etag], [uploaded.etag, uploaded.etag]);
  const second = await put(name, "[1,2]");
  assert.equal(second.status, 200);
  assert.notEqual(second.headers.etag, first.headers.etag);
  assert.equal((await get(name)).text, "[1,2]");
});

test("a blob may be empty, and a large one is streamed both ways, beyond the limit of other bodies", async () => {
  const name = freshName();
  assert.equal((await put(name, "")).status, 201);
  const answer = await get(name);
  assert.deepEqual([answer.status, answer.text, answer.headers["content-length"]], [200, "", "0"]);
  const bytes = randomBytes(LIMIT);
  const url = `${service.origin}/data/${name}`;
  assert.equal((await fetch(url, { method: "PUT", body: bytes })).status, 200);
  const read = Buffer.from(await (await fetch(url)).arrayBuffer());
  const digest = (of: Buffer) => createHash("sha256").update(of).digest("hex");
  assert.equal(digest(read), digest(bytes));
});

test("PUT respects its conditions, even when another upload ends meanwhile", async () => {
  const name = freshName();
  const failed = [412, "precondition_failed"];
  assert.deepEqual(codeOf(await put(name, "a", { "if-match": "*" })), failed);
  const first = await put(name, "a", { "if-none-match": "*" });
  assert.equal(first.status, 201);
  assert.deepEqual(codeOf(await put(name, "b", { "if-none-match": "*" })), failed);
  assert.equal((await put(name, "b", { "if-match": first.headers.etag! })).status, 200);
  assert.deepEqual(codeOf(await put(name, "c", { "if-match": first.headers.etag! })), failed);
  const slow = beginPut(name, { "content-length": 2, "if-match": (await get(name)).headers.etag! });
  await slow.write("d");
  await put(name, "between");
  await slow.write("d");
  assert.equal(await slow.status, 412);
  assert.equal((await get(name)).text, "between");
});

test("a blob over the limit is too_large, whether its length is stated or not, and leaves no file", async () => {
  const name = freshName();
  const files = await service.files();
  const stated = { "content-length": LIMIT + 1, expect: "100-continue" };
  const refused = await ask(service.port, { method: "PUT", path: `/data/${name}`, headers: stated });
  assert.deepEqual(codeOf(refused), [413, "too_large"]);
  const chunked = await put(name, " ".repeat(LIMIT + 1), { "transfer-encoding": "chunked" });
  assert.deepEqual(codeOf(chunked), [413, "too_large"]);
  assert.deepEqual(await service.files(), files);
  assert.equal((await get(name)).status, 404);
});

test("a caller that expects 100-continue gets it, or a refusal", async () => {
  const headers = { "content-length": 2, expect: "100-continue" };
  const { sent, status } = beginPut(freshName(), headers);
  sent.on("continue", () => sent.end("[]")).flushHeaders();
  assert.equal(await status, 201);
  const unwanted = await ask(service.port, { method: "PUT", path: "/data/ml_engine_x.json", headers });
  assert.deepEqual(codeOf(unwanted), [405, "method_not_allowed"]);
});

test("an upload that breaks off keeps the previous blob", async () => {
  const name = freshName();
  await put(name, "whole");
  const files = await service.files();
  const broken = beginPut(name, { "content-length": 10 });
  broken.status.catch(() => undefined);
  broken.sent.on("error", () => undefined);
  await broken.write("par");
  await eventually(async () => (await service.files()).length !== files.length);
  broken.sent.destroy();
  await eventually(async () => (await service.files()).length === files.length);
  assert.equal((await get(name)).text, "whole");
});

/** The store of a service, whose functions a test replaces. */
async function replaceable(t: TestContext) {
  const { store, ...listening } = await listenFor(t);
  t.mock.method(store, "within", () => store);
  return { ...listening, store };
}

test("a storage that is full or read-only makes an upload fail, with a detail about an upload", async (t) => {
  const { port, store } = await replaceable(t);
  for (const [errno, status, code, words] of [
    ["ENOSPC", 507, "storage_full", /could not be stored: .*no space left on the device/],
    ["EROFS", 502, "storage_failed", /the file system is read-only/],
  ] as const) {
    const error = Object.assign(new Error(errno), { code: errno });
    const failure = outputFailed("/data/x", causeOf(error), error);
    t.mock.method(store, "put", () => Promise.reject(failure));
    const answer = await ask(port, { method: "PUT", path: "/data/feature_engine_1.json" }, "[]");
    assert.deepEqual(codeOf(answer), [status, code]);
    const { title, detail } = JSON.parse(answer.text);
    assert.match(detail, words);
    assert.doesNotMatch(`${title} ${detail}`, /result|output/);
  }
});

test("GET and HEAD answer with type and version, and say that ranges are possible", async () => {
  const name = freshName();
  for (const [blob, type] of [
    [name, "application/json"],
    [name.replace(/json$/, "parquet"), "application/vnd.apache.parquet"],
  ] as const) {
    await put(blob, "0123456789");
    for (const method of ["GET", "HEAD"]) {
      const { status, headers, text } = await get(blob, {}, method);
      assert.deepEqual([status, text], [200, method === "GET" ? "0123456789" : ""]);
      const expected = { "content-type": type, "content-length": "10", "accept-ranges": "bytes" };
      assert.partialDeepStrictEqual(headers, expected);
      assert.match(headers.etag!, /^"[^"]+"$/);
    }
  }
});

test("a range gets its bytes, a malformed or multiple one the whole blob, and one outside the blob 416", async () => {
  const name = freshName();
  await put(name, "0123456789");
  for (const [range, status, text, place] of [
    ["bytes=2-4", 206, "234", "bytes 2-4/10"],
    ["bytes=7-", 206, "789", "bytes 7-9/10"],
    ["bytes=-2", 206, "89", "bytes 8-9/10"],
    ["bytes=-20", 206, "0123456789", "bytes 0-9/10"],
    ["bytes=0-99", 206, "0123456789", "bytes 0-9/10"],
    ["bytes=0-0,2-3", 200, "0123456789", undefined],
    ["bytes=4-2", 200, "0123456789", undefined],
    ["lines=1-2", 200, "0123456789", undefined],
    ["bytes=x", 200, "0123456789", undefined],
  ] as const) {
    const answer = await get(name, { range });
    const found = [answer.status, answer.text, answer.headers["content-range"]];
    assert.deepEqual(found, [status, text, place], range);
  }
  for (const range of ["bytes=10-", "bytes=10-20", "bytes=-0"]) {
    const answer = await get(name, { range });
    assert.deepEqual(codeOf(answer), [416, "range_not_satisfiable"], range);
    assert.equal(answer.headers["content-range"], "bytes */10");
  }
});

test("GET respects If-Match, If-None-Match and If-Range", async () => {
  const name = freshName();
  const etag = (await put(name, "0123456789")).headers.etag!;
  for (const [headers, status] of [
    [{ "if-none-match": `"x", W/${etag}` }, 304],
    [{ "if-none-match": "*" }, 304],
    [{ "if-none-match": '"x"' }, 200],
    [{ "if-match": `"x", ${etag}` }, 200],
    [{ "if-match": "*" }, 200],
    [{ "if-match": '"x"' }, 412],
    [{ range: "bytes=1-2", "if-range": etag }, 206],
    [{ range: "bytes=1-2", "if-range": '"x"' }, 200],
  ] as const) {
    assert.equal((await get(name, headers)).status, status, JSON.stringify(headers));
  }
});

test("an output can be read but not uploaded, and no other name is a blob", async () => {
  await service.store.put("data/ml_engine_x.json", "{}");
  assert.equal((await get("ml_engine_x.json")).status, 200);
  const refused = await put("nn_engine_x.json", "{}");
  assert.deepEqual(codeOf(refused), [405, "method_not_allowed"]);
  assert.equal(refused.headers.allow, "DELETE, GET, HEAD");
  for (const name of [
    "feature_engine_.json",
    "feature_engine_a.txt",
    `feature_engine_${"x".repeat(65)}.json`,
    "..%2f..%2fetc%2fpasswd",
    "feature_engine_a%00.json",
  ]) {
    assert.deepEqual(codeOf(await get(name)), [404, "not_found"], name);
    assert.deepEqual(codeOf(await put(name, "[]")), [400, "invalid_request"], name);
  }
});

test("DELETE removes an input or an output, and respects If-Match", async () => {
  const name = freshName();
  const { headers } = await put(name, "[1]");
  const remove = (blob: string, sent: Headers = {}) => get(blob, sent, "DELETE");
  assert.deepEqual(codeOf(await remove(name, { "if-match": '"other"' })), [412, "precondition_failed"]);
  const gone = await remove(name, { "if-match": headers.etag! });
  assert.deepEqual([gone.status, gone.text], [204, ""]);
  for (const sent of [{}, { "if-match": "*" }] as Headers[])
    assert.deepEqual(codeOf(await remove(name, sent)), [404, "not_found"]);
  await service.store.put("data/ml_engine_done.json", "{}");
  assert.equal((await remove("ml_engine_done.json")).status, 204);
  assert.deepEqual(codeOf(await remove("other.json")), [404, "not_found"]);
});

/** Requests a blob on a separate connection and reads only the head of the answer. */
async function unread(port: number, name: string): Promise<{ status: string; socket: Socket }> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write(`GET /data/${name} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
  await once(socket, "readable");
  return { status: String(socket.read(12)).slice(-3), socket };
}

test("parallel downloads are limited for each caller and in total", async (t) => {
  const name = "feature_engine_long.json";
  for (const [limits, status] of [
    [{ downloads_per_caller: 2 }, 429],
    [{ downloads: 2 }, 503],
  ] as const) {
    const limited = await listenFor(t, limits);
    // More than the buffers of a connection hold.
    await limited.store.put(`data/${name}`, "x".repeat(2 ** 26));
    const begun = [await unread(limited.port, name), await unread(limited.port, name)];
    for (const download of begun) assert.equal(download.status, "200");
    const path = `/data/${name}`;
    const refused = await ask(limited.port, { path });
    assert.equal(refused.status, status, refused.text);
    assert.match(refused.headers["retry-after"] ?? "", /^[1-9]/);
    assert.equal((await ask(limited.port, { path, method: "HEAD" })).status, 200, "it carries nothing");
    begun[0]!.socket.destroy();
    await eventually(async () => {
      const next = await unread(limited.port, name);
      next.socket.destroy();
      return next.status === "200";
    });
    begun[1]!.socket.destroy();
  }
});
