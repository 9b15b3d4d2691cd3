import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { FolderStore } from "../../../blob/folder/folder-store.ts";
import { ask, eventually, type Listening, listen, listenFor, type RawAnswer } from "../listening.testing.ts";
import { uploadedBlobSchema } from "./blob-docs.ts";
import { FakeFullStore } from "./fake-full-store.testing.ts";

const LIMIT = 2 ** 21;
let service: Listening;
before(async () => {
  service = await listen({ upload_bytes: LIMIT });
});
after(async () => {
  await service.close();
  const defects = service.logged.filter((line) => line.includes("defect"));
  assert.deepEqual(defects, [], "whatever a caller does is no defect");
});

let count = 0;
const freshName = () => `feature_engine_b${++count}.json`;

function put(name: string, body: string, headers: Record<string, string | number> = {}): Promise<RawAnswer> {
  const length = { "content-length": Buffer.byteLength(body) };
  return ask(
    service.port,
    { method: "PUT", path: `/data/${name}`, headers: { ...length, ...headers } },
    body,
  );
}

function get(name: string, headers: Record<string, string> = {}, method = "GET"): Promise<RawAnswer> {
  return ask(service.port, { method, path: `/data/${name}`, headers });
}

function codeOf({ status, text }: RawAnswer): [number, string] {
  return [status, JSON.parse(text).code];
}

test("a blob is new with 201, replaced with 200, and told with its URL, size and version", async () => {
  const name = freshName();
  const first = await put(name, "[1]");
  const told = uploadedBlobSchema.parse(JSON.parse(first.text));
  assert.deepEqual([first.status, told.name, told.size], [201, name, 3]);
  assert.equal(told.url, `${service.origin}/data/${name}`);
  assert.deepEqual([first.headers.etag, (await get(name)).headers.etag], [told.etag, told.etag]);
  const second = await put(name, "[1,2]");
  assert.equal(second.status, 200);
  assert.notEqual(second.headers.etag, first.headers.etag);
  assert.equal((await get(name)).text, "[1,2]");
});

test("any content type will do, and none, and odd ones", async () => {
  for (const type of [
    "application/json",
    "text/plain",
    "application/octet-stream",
    "multipart/form-data",
    "odd",
    "",
  ]) {
    const answer = await put(freshName(), "[]", type === "" ? {} : { "content-type": type });
    assert.equal(answer.status, 201, type);
  }
});

test("a part of a blob is not taken for the whole", async () => {
  const name = freshName();
  await put(name, "[1,2]");
  const answer = await put(name, "[1", { "content-range": "bytes 0-1/5" });
  assert.deepEqual(codeOf(answer), [400, "invalid_request"]);
  assert.equal((await get(name)).text, "[1,2]");
});

test("an empty blob is one too", async () => {
  const name = freshName();
  assert.equal((await put(name, "")).status, 201);
  const answer = await get(name);
  assert.deepEqual([answer.status, answer.text, answer.headers["content-length"]], [200, "", "0"]);
});

test("a large one is streamed both ways, over the limit of other bodies", async () => {
  const bytes = randomBytes(LIMIT);
  const url = `${service.origin}/data/${freshName()}`;
  const answer = await fetch(url, { method: "PUT", body: bytes });
  assert.equal(answer.status, 201);
  const read = Buffer.from(await (await fetch(url)).arrayBuffer());
  const digest = (of: Buffer) => createHash("sha256").update(of).digest("hex");
  assert.equal(digest(read), digest(bytes));
});

test("reading tells the version and that ranges may be asked for", async () => {
  const name = freshName();
  await put(name, "0123456789");
  for (const method of ["GET", "HEAD"]) {
    const { status, headers, text } = await get(name, {}, method);
    assert.deepEqual([status, text], [200, method === "GET" ? "0123456789" : ""]);
    assert.equal(headers["content-type"], "application/json");
    assert.equal(headers["content-length"], "10");
    assert.equal(headers["accept-ranges"], "bytes");
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.match(headers.etag!, /^"[^"]+"$/);
  }
});

test("a range is answered with its bytes, nonsense with the whole, what lies outside with 416", async () => {
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
    assert.deepEqual(
      [answer.status, answer.text, answer.headers["content-range"]],
      [status, text, place],
      range,
    );
  }
  for (const range of ["bytes=10-", "bytes=10-20", "bytes=-0"]) {
    const answer = await get(name, { range });
    assert.deepEqual(codeOf(answer), [416, "range_not_satisfiable"], range);
    assert.equal(answer.headers["content-range"], "bytes */10");
  }
});

test("conditions are kept when reading", async () => {
  const name = freshName();
  const etag = (await put(name, "0123456789")).headers.etag!;
  assert.equal((await get(name, { "if-none-match": `"x", W/${etag}` })).status, 304);
  assert.equal((await get(name, { "if-none-match": "*" })).status, 304);
  assert.equal((await get(name, { "if-none-match": '"x"' })).status, 200);
  assert.equal((await get(name, { "if-match": `"x", ${etag}` })).status, 200);
  assert.equal((await get(name, { "if-match": "*" })).status, 200);
  assert.deepEqual(codeOf(await get(name, { "if-match": '"x"' })), [412, "precondition_failed"]);
  assert.equal((await get(name, { range: "bytes=1-2", "if-range": etag })).text, "12");
  assert.equal((await get(name, { range: "bytes=1-2", "if-range": '"x"' })).status, 200);
});

test("conditions are kept when writing, also over those that come meanwhile", async () => {
  const name = freshName();
  assert.deepEqual(codeOf(await put(name, "a", { "if-match": "*" })), [412, "precondition_failed"]);
  const first = await put(name, "a", { "if-none-match": "*" });
  assert.equal(first.status, 201);
  assert.deepEqual(codeOf(await put(name, "b", { "if-none-match": "*" })), [412, "precondition_failed"]);
  assert.equal((await put(name, "b", { "if-match": first.headers.etag! })).status, 200);
  assert.deepEqual(codeOf(await put(name, "c", { "if-match": first.headers.etag! })), [
    412,
    "precondition_failed",
  ]);
  const slow = beginPut(name, { "content-length": 2, "if-match": (await get(name)).headers.etag! });
  await slow.write("d");
  await put(name, "between");
  await slow.write("d");
  assert.equal(await slow.status, 412);
  assert.equal((await get(name)).text, "between");
});

test("of two that would make the same new blob one does", async () => {
  const name = freshName();
  const uploads = ["a", "b"].map((text) => ({
    text,
    upload: beginPut(name, { "content-length": 2, "if-none-match": "*" }),
  }));
  for (const { text, upload } of uploads) await upload.write(text);
  for (const { text, upload } of uploads) await upload.write(text);
  const statuses = await Promise.all(uploads.map(({ upload }) => upload.status));
  assert.deepEqual(statuses.toSorted(), [201, 412]);
  assert.equal((await get(name)).text, statuses[0] === 201 ? "aa" : "bb");
});

/** An upload whose pieces a test sends one by one. */
function beginPut(name: string, headers: Record<string, string | number>) {
  const sent = request({
    host: "127.0.0.1",
    port: service.port,
    method: "PUT",
    path: `/data/${name}`,
    headers,
    agent: false,
  });
  const status = once(sent, "response").then(([answer]) => {
    answer.resume();
    return answer.statusCode as number;
  });
  return {
    sent,
    status,
    write: (text: string) => new Promise<void>((resolve) => void sent.write(text, () => resolve())),
  };
}

test("a blob over the limit is too large, told before its bytes are sent or met on the way, and nothing is left", async () => {
  const name = freshName();
  const told = await ask(service.port, {
    method: "PUT",
    path: `/data/${name}`,
    headers: { "content-length": LIMIT + 1, expect: "100-continue" },
  });
  assert.deepEqual(codeOf(told), [413, "too_large"]);
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
  assert.equal((await get(name)).status, 404);
});

test("who asks first whether to send is told to go on, or why not", async () => {
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

test("an upload that breaks off leaves what was there", async () => {
  const name = freshName();
  await put(name, "whole");
  const files = await service.files();
  const broken = beginPut(name, { "content-length": 10 });
  broken.status.catch(() => undefined);
  broken.sent.on("error", () => undefined);
  await broken.write("par");
  await eventually(async () => (await service.files()).length !== files.length);
  broken.sent.destroy();
  await eventually(async () => (await service.files()).length <= files.length);
  assert.equal((await get(name)).text, "whole");
  assert.deepEqual(await service.files(), files);
});

test("bytes that end before their length is reached leave nothing", async () => {
  const name = freshName();
  const files = await service.files();
  const socket = connect(service.port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.end(
    `PUT /data/${name} HTTP/1.1\r\nHost: 127.0.0.1:${service.port}\r\nContent-Length: 10\r\n\r\nshort`,
  );
  socket.resume();
  await once(socket, "close");
  await eventually(async () => (await service.files()).length <= files.length);
  assert.equal((await get(name)).status, 404);
});

test("outputs are read and not put; other names are none", async () => {
  await service.store.put("data/ml_engine_x.json", "{}");
  assert.equal((await get("ml_engine_x.json")).status, 200);
  const refused = await put("nn_engine_x.json", "{}");
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
    assert.deepEqual(codeOf(await get(name)), [404, "not_found"], name);
    assert.deepEqual(codeOf(await put(name, "[]")), [400, "invalid_request"], name);
  }
});

test("a name is each caller's own: what one puts, another neither meets nor learns of", async (t) => {
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

/** Asks for a blob on a connection of its own and reads no more than the head of the answer. */
async function unread(port: number, name: string): Promise<{ status: string; socket: Socket }> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write(`GET /data/${name} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
  await once(socket, "readable");
  const head = String(socket.read(12));
  return { status: head.slice(-3), socket };
}

/** More than the buffers of a connection hold. */
const LONG = "x".repeat(2 ** 26);

test("downloads at the same time are counted, of a caller and in all", async (t) => {
  for (const [limits, status] of [
    [{ downloads_per_caller: 2 }, "429"],
    [{ downloads: 2 }, "503"],
  ] as const) {
    const limited = await listenFor(t, limits);
    await limited.store.put("data/feature_engine_long.json", LONG);
    const begun = [await unread(limited.port, "feature_engine_long.json")];
    begun.push(await unread(limited.port, "feature_engine_long.json"));
    assert.deepEqual(
      begun.map((download) => download.status),
      ["200", "200"],
    );
    const path = "/data/feature_engine_long.json";
    const refused = await ask(limited.port, { path });
    assert.equal(String(refused.status), status, refused.text);
    assert.match(refused.headers["retry-after"] ?? "", /^[1-9]/);
    assert.equal((await ask(limited.port, { path, method: "HEAD" })).status, 200, "it carries nothing");
    begun[0]!.socket.destroy();
    await eventually(async () => {
      const next = await unread(limited.port, "feature_engine_long.json");
      next.socket.destroy();
      return next.status === "200";
    });
    begun[1]!.socket.destroy();
  }
});

test("a download whose reader takes nothing is ended, and one that is read is not", async (t) => {
  const impatient = await listenFor(t, {}, { stallMilliseconds: 500 });
  await impatient.store.put("data/feature_engine_long.json", LONG);
  await impatient.store.put("data/feature_engine_short.json", "[]");
  const { status, socket } = await unread(impatient.port, "feature_engine_long.json");
  assert.equal(status, "200");
  await eventually(() => impatient.done.length === 1);
  socket.destroy();
  assert.match(impatient.logged.at(-1)!, /"aborted":true/);
  const whole = await ask(impatient.port, { path: "/data/feature_engine_short.json" });
  assert.equal(whole.text, "[]");
});

test("the file of a download is closed where its reader goes before the first piece is there", async (t) => {
  const name = "feature_engine_slow.json";
  const asked = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let isClosed = false;
  async function* read(): AsyncGenerator<Uint8Array> {
    try {
      asked.resolve();
      await gate.promise;
      for (;;) yield Buffer.from(" ".repeat(1_000));
    } finally {
      isClosed = true;
    }
  }
  const store = Object.assign(new FakeFullStore("EROFS"), {
    stat: async () => ({ size: 10_000, etag: '"1"' }),
    read,
  });
  const slow = await listenFor(t, {}, { store });
  const socket = connect(slow.port, "127.0.0.1");
  socket.write(`GET /data/${name} HTTP/1.1\r\nHost: 127.0.0.1:${slow.port}\r\n\r\n`);
  await asked.promise;
  socket.destroy();
  await eventually(() => slow.done.length === 1);
  gate.resolve();
  await eventually(() => isClosed);
});

function remove(name: string, headers: Record<string, string> = {}): Promise<RawAnswer> {
  return ask(service.port, { method: "DELETE", path: `/data/${name}`, headers });
}

test("inputs and outputs are removed, of one version where that is asked for, and not while they are in use", async () => {
  const name = freshName();
  const { headers } = await put(name, "[1]");
  assert.deepEqual(codeOf(await remove(name, { "if-match": '"other"' })), [412, "precondition_failed"]);
  service.blobs.inUse.add(name);
  assert.deepEqual(codeOf(await remove(name)), [409, "blob_in_use"]);
  service.blobs.inUse.delete(name);
  const gone = await remove(name, { "if-match": headers.etag! });
  assert.deepEqual([gone.status, gone.text], [204, ""]);
  for (const headers of [{}, { "if-match": "*" }] as Record<string, string>[])
    assert.deepEqual(codeOf(await remove(name, headers)), [404, "not_found"]);
  await service.store.put("data/ml_engine_done.json", "{}");
  assert.equal((await remove("ml_engine_done.json")).status, 204);
  assert.deepEqual(codeOf(await remove("other.json")), [404, "not_found"]);
});

test("an upload takes its room before its bytes come, or as they come, and gives it back where it fails", async (t) => {
  const { uploads } = service.blobs;
  t.after(() => {
    service.blobs.room = Number.POSITIVE_INFINITY;
  });
  service.blobs.room = 10;
  uploads.length = 0;
  const files = await service.files();
  assert.deepEqual(codeOf(await put(freshName(), "x".repeat(11))), [507, "quota_exceeded"]);
  assert.deepEqual(uploads, [], "nothing was taken for it");
  const path = `/data/${freshName()}`;
  const sent = { method: "PUT", path, headers: { "transfer-encoding": "chunked" } };
  assert.deepEqual(codeOf(await ask(service.port, sent, "x".repeat(11))), [507, "quota_exceeded"]);
  assert.deepEqual(uploads, ["given up"]);
  assert.equal((await put(freshName(), "x".repeat(10))).status, 201);
  assert.deepEqual(uploads, ["given up", 10]);
  assert.equal((await service.files()).length, files.length + 1);
});

for (const [errno, status, code, words] of [
  ["ENOSPC", 507, "storage_full", /could not be stored: .*no space left on the device/],
  ["EDQUOT", 507, "storage_full", /the disk quota is used up/],
  ["EROFS", 502, "storage_failed", /the file system is read-only/],
] as const) {
  test(`a storage that refuses with ${errno} is told as ${code}, in words of an upload`, async (t) => {
    const fake = await listenFor(t, {}, { store: new FakeFullStore(errno) });
    const sent = { method: "PUT", path: "/data/feature_engine_1.json", headers: { "content-length": 2 } };
    const answer = await ask(fake.port, sent, "[]");
    assert.deepEqual(codeOf(answer), [status, code]);
    const { title, detail } = JSON.parse(answer.text);
    assert.match(detail, words);
    assert.doesNotMatch(`${title} ${detail}`, /result|output/);
    assert.deepEqual(fake.blobs.uploads, ["given up"]);
  });
}

test("a blob whose owner replaces it before its first piece is read is looked up again", async (t) => {
  const { stat } = FolderStore.prototype;
  for (const range of [undefined, "bytes=1-1"]) {
    const name = freshName();
    await put(name, "[1]");
    let isReplaced = false;
    const { mock } = t.mock.method(
      FolderStore.prototype,
      "stat",
      async function (this: FolderStore, key: string) {
        const found = await stat.call(this, key);
        if (!isReplaced) await this.put(key, "[2,3,4]");
        isReplaced = true;
        return found;
      },
    );
    const answer = await get(name, range === undefined ? {} : { range });
    mock.restore();
    const whole = range === undefined;
    assert.deepEqual([answer.status, answer.text], whole ? [200, "[2,3,4]"] : [206, "2"]);
    assert.equal(answer.headers["content-range"], whole ? undefined : "bytes 1-1/7");
  }
});
