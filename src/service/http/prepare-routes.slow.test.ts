import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openFiles } from "../../../test/open-files.testing.ts";
import { preparedBlobsSchema } from "../../contract/api/prepared-blobs.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "../auth/caller.ts";
import type { PreparedFile, PreparedFiles, PrepareOrder } from "../request-process/messages.ts";
import { FakeFullStore } from "./fake-full-store.testing.ts";
import { ask, eventually, type Listening, listen } from "./listening.testing.ts";

const LIMIT = 1_000;

/** Started orders. If `isHeld`, the test ends each. */
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
  const window = { start: "2020-01-01", end: "2020-01-02", dates: 2 };
  const lists = { tickers: ["A"], tickerCount: 3, warnings: ["a warning"], warningCount: 300 };
  const answer: PreparedFiles = { id, features: ["mom_1"], files, ...lists, ...window };
  return Buffer.from(JSON.stringify(answer));
}

let service: Listening;
before(async () => {
  service = await listen({ prepare_bytes: LIMIT }, { prepare });
});
after(() => service.close());

function post(query: string, csv: string, headers: Record<string, string> = {}) {
  const length = headers["transfer-encoding"] ? {} : { "content-length": Buffer.byteLength(csv) };
  const options = { method: "POST", path: `/v1/prepare${query}`, headers: { ...length, ...headers } };
  return ask(service.port, options, csv);
}

async function codeOf(answer: Promise<{ status: number; text: string }>): Promise<[number, string]> {
  const { status, text } = await answer;
  return [status, JSON.parse(text).code ?? text];
}

async function stored(name: string): Promise<string | undefined> {
  if ((await service.store.stat(`data/${name}`)) === undefined) return undefined;
  const pieces: Uint8Array[] = [];
  for await (const piece of service.store.read(`data/${name}`)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test("both blobs of a CSV are stored under its digest, once, whatever its Content-Type", async () => {
  const answer = await post("?start=2020-01-01&tickers=A&learning_end=2020-01-01", "Date,A\n1", {
    "content-type": "application/gzip",
  });
  assert.equal(answer.status, 200, answer.text);
  const prepared = preparedBlobsSchema.parse(JSON.parse(answer.text));
  assert.equal(prepared.feature_url, `${service.origin}/data/feature_engine_${prepared.id}.json`);
  assert.equal(prepared.data_extractor_url, `${service.origin}/data/data_extractor_${prepared.id}.json`);
  assert.deepEqual([prepared.written, prepared.ticker_count, prepared.warning_count], [true, 3, 300]);
  assert.equal(await stored(`feature_engine_${prepared.id}.json`), "Date,A\n1Date,A\n1");
  assert.equal(await stored(`data_extractor_${prepared.id}.json`), "Date,A\n1");
  const { order } = orders.at(-1)!;
  assert.deepEqual(order.options, {
    start: "2020-01-01",
    tickers: ["A"],
    learningEnd: "2020-01-01",
    onlyFeatures: undefined,
    timeZone: undefined,
    dateFormat: undefined,
  });
  assert.equal(order.multipartType, undefined);
  assert.equal(existsSync(order.folder), false, "its folder is gone");
  const again = preparedBlobsSchema.parse(JSON.parse((await post("", "Date,A\n1")).text));
  assert.deepEqual([again.id, again.written], [prepared.id, false]);
});

test("the flags of the query, and the type of a form, reach the process", async () => {
  const flags =
    "?only_features=true&time_zone=Europe/Berlin&date_format=DD/MM/YYYY&float32=false&format=parquet&compression=zstd";
  const type = 'Multipart/Form-Data; boundary="a"';
  assert.equal((await post(flags, "x", { "content-type": type })).status, 200);
  const { order } = orders.at(-1)!;
  assert.equal(order.multipartType, type);
  assert.deepEqual(order.options, {
    float32: false,
    format: "parquet",
    compression: "zstd",
    learningEnd: undefined,
    onlyFeatures: true,
    timeZone: "Europe/Berlin",
    dateFormat: "DD/MM/YYYY",
  });
  for (const query of ["?float32=yes", "?only_features=", "?format=csv", "?compression=gzip"])
    assert.deepEqual(await codeOf(post(query, "x")), [400, "invalid_request"]);
});

test("a CSV that cannot be prepared has one problem, and stores nothing", async () => {
  const before = await service.files();
  assert.deepEqual(await codeOf(post("", "bad")), [422, "invalid_data"]);
  assert.deepEqual(await codeOf(post("?id=a/b", "x")), [400, "invalid_request"]);
  assert.deepEqual(await codeOf(post("?start=1.2.2020", "x")), [400, "invalid_request"]);
  assert.deepEqual(await codeOf(post("?begin=2020-01-01", "x")), [400, "invalid_request"]);
  assert.deepEqual(await codeOf(post("", "x", { "content-range": "bytes 0-0/1" })), [400, "invalid_request"]);
  const count = orders.length;
  const long = "x".repeat(LIMIT + 1);
  assert.deepEqual(await codeOf(post("", long)), [413, "too_large"]);
  assert.deepEqual(await codeOf(post("", long, { "transfer-encoding": "chunked" })), [413, "too_large"]);
  assert.equal(orders.length, count, "nothing was begun");
  assert.deepEqual(await service.files(), before);
});

test("a blob of that id with other bytes stays, and so do the caller's blobs if space runs out", async () => {
  assert.equal((await post("?id=mine", "first")).status, 200);
  assert.deepEqual(await codeOf(post("?id=mine", "other")), [412, "precondition_failed"]);
  assert.equal(await stored("data_extractor_mine.json"), "first");
  service.blobs.room = 5;
  assert.deepEqual(await codeOf(post("?id=full", "large")), [507, "quota_exceeded"]);
  service.blobs.room = Number.POSITIVE_INFINITY;
  assert.equal(await stored("data_extractor_full.json"), undefined);
  await service.store.put("data/feature_engine_half.json", "other");
  assert.deepEqual(await codeOf(post("?id=half", "x")), [412, "precondition_failed"]);
  assert.equal(await stored("data_extractor_half.json"), undefined);
});

test("both blobs of the same CSV, sent twice at the same time, are written once", async () => {
  const answers = await Promise.all([post("", "same"), post("", "same")]);
  const prepared = answers.map(({ text }) => preparedBlobsSchema.parse(JSON.parse(text)));
  assert.deepEqual(prepared.map(({ written }) => written).sort(), [false, true]);
  assert.equal(prepared[0]!.feature_url, prepared[1]!.feature_url);
});

test("if the storage fails at the second blob, the first stays, and the same request stores the second", async (t) => {
  const begin = service.blobs.beginUpload.bind(service.blobs);
  t.mock.method(service.blobs, "beginUpload", async (caller: Caller, name: string, bytes: number) => {
    const upload = await begin(caller, name, bytes);
    return name.startsWith("feature") ? { ...upload, store: new FakeFullStore("ENOSPC") } : upload;
  });
  const before = service.blobs.uploads.length;
  assert.deepEqual(await codeOf(post("?id=broken", "x")), [507, "storage_full"]);
  assert.deepEqual(service.blobs.uploads.slice(before), [1]);
  assert.equal(await stored("data_extractor_broken.json"), "x");
  const { folder } = orders.at(-1)!.order;
  assert.deepEqual(
    openFiles().filter((path) => path.startsWith(folder)),
    [],
  );
  t.mock.restoreAll();
  assert.equal((await post("?id=broken", "x")).status, 200);
  assert.equal(await stored("feature_engine_broken.json"), "xx");
});

test("existing blobs without a record, as after a kill between the two steps, are recorded", async (t) => {
  const { blobs } = service;
  const [find, before] = [blobs.find.bind(blobs), blobs.uploads.length];
  t.mock.method(blobs, "uploadAddress", find);
  t.mock.method(blobs, "find", async (caller: Caller, name: string) =>
    blobs.uploads.length === before ? undefined : find(caller, name),
  );
  await service.store.put("data/data_extractor_broken-off.json", "x");
  await service.store.put("data/feature_engine_broken-off.json", "xx");
  const answer = await post("?id=broken-off", "x");
  assert.deepEqual([answer.status, JSON.parse(answer.text).written], [200, false]);
  assert.deepEqual(blobs.uploads.slice(before), [1, 2]);
  await service.store.put("data/data_extractor_other.json", "y");
  blobs.uploads.length = before;
  assert.deepEqual(await codeOf(post("?id=other", "x")), [412, "precondition_failed"]);
  assert.deepEqual(blobs.uploads.slice(before), [], "nothing was stored");
});

test("a caller that leaves ends it, and a caller may have two at the same time", async () => {
  const held = Promise.withResolvers<void>();
  hold = held.promise;
  const count = orders.length;
  const others = [post("?id=one", "x"), post("?id=two", "x")];
  await eventually(() => orders.length === count + 2);
  assert.deepEqual(await codeOf(post("", "x")), [429, "rate_limited"]);
  held.resolve();
  hold = undefined;
  assert.deepEqual(
    (await Promise.all(others)).map(({ status }) => status),
    [200, 200],
  );

  const never = Promise.withResolvers<void>();
  hold = never.promise;
  const sent = request({ port: service.port, method: "POST", path: "/v1/prepare?id=left", agent: false });
  sent.on("error", () => undefined);
  sent.end("x");
  await eventually(() => orders.length === count + 3);
  sent.destroy();
  const { order, signal } = orders.at(-1)!;
  await eventually(() => signal.aborted);
  never.resolve();
  hold = undefined;
  await eventually(() => !existsSync(order.folder));
  assert.equal(await stored("data_extractor_left.json"), undefined);
});
