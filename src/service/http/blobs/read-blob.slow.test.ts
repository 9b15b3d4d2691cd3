import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { ask, eventually, listenFor } from "../listening.testing.ts";
import {
  closeWithoutDefects,
  codeOf,
  freshName,
  type ListeningForBlobs,
  listenForBlobs,
} from "./blob-requests.testing.ts";
import { FakeFullStore } from "./fake-full-store.testing.ts";

let service: ListeningForBlobs;
before(async () => {
  service = await listenForBlobs();
});
after(() => closeWithoutDefects(service));

test("GET and HEAD answer with the version, and say that ranges are possible", async () => {
  const name = freshName();
  await service.put(name, "0123456789");
  for (const method of ["GET", "HEAD"]) {
    const { status, headers, text } = await service.get(name, {}, method);
    assert.deepEqual([status, text], [200, method === "GET" ? "0123456789" : ""]);
    assert.equal(headers["content-type"], "application/json");
    assert.equal(headers["content-length"], "10");
    assert.equal(headers["accept-ranges"], "bytes");
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.match(headers.etag!, /^"[^"]+"$/);
  }
});

test("a Parquet table is stored under its own extension and media type", async () => {
  const name = freshName().replace(/json$/, "parquet");
  assert.equal((await service.put(name, "PAR1")).status, 201);
  const { status, headers, text } = await service.get(name);
  assert.deepEqual([status, text, headers["content-type"]], [200, "PAR1", "application/vnd.apache.parquet"]);
});

test("a range gets its bytes, a malformed or multiple one the whole blob, and one outside the blob 416", async () => {
  const name = freshName();
  await service.put(name, "0123456789");
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
    const answer = await service.get(name, { range });
    assert.deepEqual(
      [answer.status, answer.text, answer.headers["content-range"]],
      [status, text, place],
      range,
    );
  }
  for (const range of ["bytes=10-", "bytes=10-20", "bytes=-0"]) {
    const answer = await service.get(name, { range });
    assert.deepEqual(codeOf(answer), [416, "range_not_satisfiable"], range);
    assert.equal(answer.headers["content-range"], "bytes */10");
  }
});

test("GET respects If-Match, If-None-Match and If-Range", async () => {
  const name = freshName();
  const etag = (await service.put(name, "0123456789")).headers.etag!;
  assert.equal((await service.get(name, { "if-none-match": `"x", W/${etag}` })).status, 304);
  assert.equal((await service.get(name, { "if-none-match": "*" })).status, 304);
  assert.equal((await service.get(name, { "if-none-match": '"x"' })).status, 200);
  assert.equal((await service.get(name, { "if-match": `"x", ${etag}` })).status, 200);
  assert.equal((await service.get(name, { "if-match": "*" })).status, 200);
  assert.deepEqual(codeOf(await service.get(name, { "if-match": '"x"' })), [412, "precondition_failed"]);
  assert.equal((await service.get(name, { range: "bytes=1-2", "if-range": etag })).text, "12");
  assert.equal((await service.get(name, { range: "bytes=1-2", "if-range": '"x"' })).status, 200);
});

/** Requests a blob on a separate connection and reads only the head of the answer. */
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

test("parallel downloads are limited for each caller and in total", async (t) => {
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

test("the service closes the file of a download whose reader disconnects before the first piece", async (t) => {
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
