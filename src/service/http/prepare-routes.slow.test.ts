import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { after, test } from "node:test";
import { preparedBlobsSchema } from "../../contract/api/prepared-blobs.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { spaceOf } from "../blobs/storage.ts";
import type { PreparedFile, PreparedFiles } from "../request-process/prepare-request.ts";
import type { PrepareOrder } from "../request-process/request-processes.ts";
import { ask, bearer, codeOf, eventually, listen, listenFor } from "./listening.testing.ts";

const LIMIT = 1_000;

/** Started orders, each of which waits for `hold`. */
const orders: { readonly order: PrepareOrder; readonly signal: AbortSignal }[] = [];
let hold: Promise<unknown> | undefined;

/** A fake process: each of its blobs is the CSV's text. */
async function prepare(order: PrepareOrder, signal: AbortSignal): Promise<Buffer> {
  orders.push({ order, signal });
  await hold;
  const csv = readFileSync(join(order.folder, "body"), "utf8");
  if (csv.includes("bad")) throw new MucastError("invalid_data", "prices.csv: line 2: bad", { path: "body" });
  const id = order.options.id ?? createHash("sha256").update(csv).digest("hex").slice(0, 16);
  mkdirSync(join(order.folder, "data"));
  const file = (name: string, text: string): PreparedFile => {
    const path = join(order.folder, "data", name);
    writeFileSync(path, text);
    const sha256 = createHash("sha256").update(text).digest("hex");
    return { name, path, bytes: Buffer.byteLength(text), sha256 };
  };
  const files = {
    prices: file(`data_extractor_${id}.json`, csv),
    features: file(`feature_engine_${id}.json`, `${csv}${csv}`),
  };
  const window = { start: "2020-01-01", end: "2020-01-02", learning_end: null, dates: 2 };
  const lists = { tickers: ["A"], ticker_count: 3, warnings: ["a warning"], warning_count: 300 };
  const prepared: PreparedFiles = { answer: { id, features: ["mom_1"], ...lists, ...window }, files };
  return Buffer.from(JSON.stringify(prepared));
}

const service = await listen({ prepare_bytes: LIMIT }, { prepare });
after(() => service.close());

function post(query: string, csv: string, headers: Record<string, string> = {}) {
  return ask(service.port, { method: "POST", path: `/v1/prepare${query}`, headers }, csv);
}

test("both blobs of a CSV are stored under its digest, once, whatever its Content-Type", async () => {
  const query = "?start=2020-01-01&tickers=A&learning_end=2020-01-01";
  const answer = await post(query, "Date,A\n1", { "content-type": "application/gzip" });
  assert.equal(answer.status, 200, answer.text);
  const prepared = preparedBlobsSchema.parse(JSON.parse(answer.text));
  assert.deepEqual([prepared.written, prepared.ticker_count, prepared.warning_count], [true, 3, 300]);
  for (const [url, name, text] of [
    [prepared.feature_url, "feature_engine", "Date,A\n1Date,A\n1"],
    [prepared.data_extractor_url, "data_extractor", "Date,A\n1"],
  ] as const) {
    assert.equal(url, `${service.origin}/data/${name}_${prepared.id}.json`);
    assert.equal(await (await fetch(url)).text(), text);
  }
  const { order } = orders.at(-1)!;
  const { start, tickers, learningEnd } = order.options;
  assert.deepEqual([start, tickers, learningEnd], ["2020-01-01", ["A"], "2020-01-01"]);
  assert.equal(order.multipartType, undefined);
  assert.equal(existsSync(order.folder), false, "its folder is gone");
  const again = preparedBlobsSchema.parse(JSON.parse((await post("", "Date,A\n1")).text));
  assert.deepEqual([again.id, again.written], [prepared.id, false]);
});

test("what cannot be prepared is one problem, and stores nothing", async () => {
  const before = await service.files();
  assert.deepEqual(codeOf(await post("", "bad")), [422, "invalid_data"]);
  const count = orders.length;
  for (const query of ["id=a/b", "start=1.2.2020", "begin=2020-01-01", "float32=yes", "format=csv"])
    assert.deepEqual(codeOf(await post(`?${query}`, "x")), [400, "invalid_request"], query);
  const part = { "content-range": "bytes 0-0/1" };
  assert.deepEqual(codeOf(await post("", "x", part)), [400, "invalid_request"]);
  const long = "x".repeat(LIMIT + 1);
  for (const headers of [{}, { "transfer-encoding": "chunked" }] as Record<string, string>[])
    assert.deepEqual(codeOf(await post("", long, headers)), [413, "too_large"]);
  assert.equal(orders.length, count, "nothing was begun");
  assert.deepEqual(await service.files(), before);
});

test("a caller that leaves ends it, and a caller may have two at the same time", async () => {
  const held = Promise.withResolvers<void>();
  hold = held.promise;
  const count = orders.length;
  const others = [post("?id=one", "x"), post("?id=two", "x")];
  await eventually(() => orders.length === count + 2);
  assert.deepEqual(codeOf(await post("", "x")), [429, "rate_limited"]);
  held.resolve();
  for (const other of others) assert.equal((await other).status, 200);

  const never = Promise.withResolvers<void>();
  hold = never.promise;
  const sent = request({ port: service.port, method: "POST", path: "/v1/prepare?id=left", agent: false });
  sent.on("error", () => undefined).end("x");
  await eventually(() => orders.length === count + 3);
  sent.destroy();
  const { signal } = orders.at(-1)!;
  await eventually(() => signal.aborted);
  never.reject(signal.reason);
  hold = undefined;
  assert.ok(!(await service.files()).includes("data_extractor_left.json"));
});

test("nothing is stored without room for both, or if a blob of their names has other bytes", async (t) => {
  const { port, files } = await listenFor(t, { stored_bytes_per_caller: 20 }, { prepare });
  const send = (id: string, csv: string) => ask(port, { method: "POST", path: `/v1/prepare?id=${id}` }, csv);
  assert.deepEqual(codeOf(await send("1", "0123456789")), [507, "quota_exceeded"]);
  await ask(port, { method: "PUT", path: "/data/feature_engine_2.json" }, "y");
  assert.deepEqual(codeOf(await send("2", "x")), [412, "precondition_failed"]);
  assert.deepEqual(await files(), ["feature_engine_2.json"]);
});

test("two equal preparations at once need room for one", async (t) => {
  const { port } = await listenFor(t, { stored_bytes_per_caller: 3 }, { prepare });
  const both = Promise.withResolvers<void>();
  hold = both.promise;
  const count = orders.length;
  const asked = [1, 2].map(() => ask(port, { method: "POST", path: "/v1/prepare?id=1" }, "x"));
  await eventually(() => orders.length === count + 2);
  both.resolve();
  hold = undefined;
  const written = (await Promise.all(asked)).map(({ text }) => JSON.parse(text).written);
  assert.deepEqual(written, [true, false]);
});

test("bytes that are there without a record, as after a kill between the two steps, are recorded", async (t) => {
  const { port, store, keys } = await listenFor(t, { auth: "keys" }, { prepare });
  const { key, token } = await keys.create("one", ["read", "write"]);
  const send = (method: string, path: string, body?: string) =>
    ask(port, { method, path, headers: bearer(token) }, body);
  await store.within(spaceOf(key.subject)).put("data/feature_engine_1.json", "xx");
  assert.equal(JSON.parse((await send("POST", "/v1/prepare?id=1", "x")).text).written, true);
  const listed = JSON.parse((await send("GET", "/v1/data")).text).blobs;
  assert.deepEqual(listed.map(({ size }: { size: number }) => size).toSorted(), [1, 2]);
});

test("a body that takes too long to arrive is refused", async (t) => {
  const { port } = await listenFor(t, { request_seconds: 0.01 }, { prepare });
  const sent = request({ port, method: "POST", path: "/v1/prepare", headers: { "content-length": 10 } });
  sent.on("error", () => undefined).write("x");
  const [{ statusCode }] = await once(sent, "response");
  assert.equal(statusCode, 504);
  sent.destroy();
});
