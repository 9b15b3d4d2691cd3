import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { inspect } from "node:util";
import type { ContainerClient } from "@azure/storage-blob";
import { type Azurite, startAzurite } from "../../../test/servers/azurite.testing.ts";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { openStore } from "../open-store.ts";
import { policyOf } from "../policy.ts";
import type { JobStore } from "../store.ts";

let azurite: Azurite;
let container: ContainerClient;
let store: JobStore;
const opened: JobStore[] = [];

before(async () => {
  azurite = await startAzurite();
  container = await azurite.newContainer("blobs");
  store = await storeOf(azurite.containerUrl("blobs"));
});
after(async () => {
  for (const each of opened) await each.close();
  await azurite.stop();
});

async function storeOf(
  blobUrl: string,
  env: Record<string, string> = { AZURE_STORAGE_CONNECTION_STRING: azurite.connectionString },
): Promise<JobStore> {
  const policy = policyOf({ allowed: [], privateOrigins: [azurite.origin], blobUrl });
  const limits = { attempts: 2, backoffMs: 1, rangeBytes: 1_000_000 };
  const result = await openStore(blobUrl, { policy, env, limits });
  opened.push(result);
  return result;
}

/** Checks that no failure discloses a secret. */
async function failure(code: ErrorCode, attempt: Promise<unknown>): Promise<MucastError> {
  const error = await attempt.then(() => assert.fail("nothing was thrown")).catch((error: unknown) => error);
  assert.ok(error instanceof MucastError, inspect(error));
  assert.equal(error.code, code, error.message);
  const shown = inspect(error, { depth: 20, showHidden: true });
  assert.doesNotMatch(shown, /sig=|AccountKey|SharedKey|Bearer/);
  return error;
}

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

/** More than two blocks of an upload, and many ranges. */
const LARGE = randomBytes(9 * 2 ** 20 + 5);

test("reads back what was written, whole and in part, with its size and version", async () => {
  for (const [name, content] of [
    ["data/small.json", Buffer.from("[1]")],
    ["data/empty.json", Buffer.alloc(0)],
    ["data/large.json", LARGE],
  ] as const) {
    const { etag } = await store.create(name, content);
    assert.deepEqual(await store.stat(name), { size: content.length, etag });
    assert.ok((await bytesOf(store.read(name))).equals(content));
    assert.ok((await bytesOf(store.read(name, { etag }))).equals(content));
  }
  const part = { start: 999_990, end: 2_000_010 };
  assert.ok((await bytesOf(store.read("data/large.json", part))).equals(LARGE.subarray(999_990, 2_000_010)));
  assert.ok((await bytesOf(store.read("data/large.json", { start: 9e6 }))).equals(LARGE.subarray(9e6)));
  const { size, chunks } = await store.open("data/large.json");
  assert.equal(size, LARGE.length);
  assert.ok((await bytesOf(chunks)).equals(LARGE));
});

test("a space has its own blobs of the same names", async () => {
  const [one, two] = ["key-0123456789abcdef", `sub-${"0".repeat(64)}`].map((space) => store.within(space));
  const name = "data/feature_engine_space.json";
  await store.put(name, "whole");
  await one!.put(name, "one");
  assert.equal(await two!.stat(name), undefined);
  await two!.create(name, "two");
  assert.equal((await bytesOf(one!.read(name))).toString(), "one");
  assert.ok(await container.getBlobClient(`sub-${"0".repeat(64)}/${name}`).exists());
  await one!.remove(name);
  assert.equal(await one!.stat(name), undefined);
  assert.equal((await bytesOf(store.read(name))).toString(), "whole");
  await one!.close();
  assert.equal((await two!.stat(name))?.size, 3, "it is closed with the whole");
  assert.throws(() => store.within(".."), /is not the space of a caller/);
});

test("a blob carries its MD5 and SHA-256, in one block and in many", async () => {
  for (const content of [Buffer.from("{}"), LARGE]) {
    await store.put("data/digests.json", content);
    const { contentMD5, metadata } = await container.getBlobClient("data/digests.json").getProperties();
    assert.ok(createHash("md5").update(content).digest().equals(contentMD5!));
    assert.equal(metadata!.sha256, createHash("sha256").update(content).digest("hex"));
  }
});

test("never creates an existing blob again; exactly one of many writers wins", async () => {
  for (const [name, size] of [
    ["data/one.json", 1000],
    ["data/blocks.json", 5 * 2 ** 20],
  ] as const) {
    const contents = Array.from({ length: 6 }, () => randomBytes(size));
    const tries = await Promise.allSettled(contents.map((content) => store.create(name, content)));
    const winners = tries.flatMap(({ status }, i) => (status === "fulfilled" ? [i] : []));
    assert.equal(winners.length, 1);
    assert.ok((await bytesOf(store.read(name))).equals(contents[winners[0]!]!));
    assert.match((await failure("output_failed", store.create(name, "late"))).message, /exists already/);
    assert.match((await failure("output_failed", store.checkNew(name))).message, /exists already/);
  }
  await store.checkNew("data/free.json");
});

test("put writes or replaces, reports which, and gives each version its own tag", async () => {
  const first = await store.put("status/a.1.json", "1");
  const second = await store.put("status/a.1.json", "1");
  assert.deepEqual([first.created, second.created], [true, false]);
  assert.notEqual(first.etag, second.etag);
  const stale = bytesOf(store.read("status/a.1.json", { etag: first.etag }));
  assert.match((await failure("blob_unavailable", stale)).message, /changed/);
});

test("content that fails, is cancelled, or is too large leaves nothing visible", async () => {
  async function* failing() {
    yield LARGE;
    throw new MucastError("invalid_data", "the content broke");
  }
  await failure("invalid_data", store.create("data/broken.json", failing()));
  const abort = new AbortController();
  async function* aborting() {
    yield LARGE;
    abort.abort();
    yield LARGE;
  }
  await failure("canceled", store.create("data/broken.json", aborting(), { signal: abort.signal }));
  await failure("too_large", store.create("data/broken.json", LARGE, { limit: LARGE.length - 1 }));
  assert.equal(await store.stat("data/broken.json"), undefined);
  await store.put("data/broken.json", "old");
  await failure("too_large", store.put("data/broken.json", LARGE, { limit: 10 }));
  assert.equal((await bytesOf(store.read("data/broken.json"))).toString(), "old");
  await store.put("data/broken.json", LARGE, { limit: LARGE.length });
});

test("a missing blob is blob_not_found, and removing it is harmless", async () => {
  assert.equal(await store.stat("data/none.json"), undefined);
  await failure("blob_not_found", bytesOf(store.read("data/none.json")));
  await failure("blob_not_found", store.open("data/none.json"));
  await store.remove("data/none.json");
  await store.put("data/gone.json", "x");
  await store.remove("data/gone.json");
  assert.equal(await store.stat("data/gone.json"), undefined);
});

test("a missing container is an error before the job, and at every use", async () => {
  const missing = await storeOf(azurite.containerUrl("nowhere"));
  const error = await failure("output_failed", missing.checkNew("data/o.json"));
  assert.match(error.message, /nowhere\/data\/o\.json.*404 ContainerNotFound/);
  await failure("output_failed", missing.create("data/o.json", "x"));
  await failure("blob_unavailable", missing.stat("data/o.json"));
});

test("a SAS, in BLOB_URL or the environment, grants only its rights", async () => {
  const url = azurite.containerUrl("blobs");
  const full = await azurite.sasFor("blobs", "rcwd");
  for (const sas of [
    await storeOf(`${url}?${full}`, {}),
    await storeOf(url, { AZURE_STORAGE_SAS_TOKEN: `?${full}` }),
  ]) {
    assert.equal(sas.url, url);
    await sas.put("data/sas.json", LARGE);
    assert.ok((await bytesOf(sas.read("data/sas.json"))).equals(LARGE));
    await sas.remove("data/sas.json");
  }
  const reader = await storeOf(`${url}?${await azurite.sasFor("blobs", "r")}`, {});
  await store.put("data/read.json", "x");
  assert.equal((await bytesOf(reader.read("data/read.json"))).toString(), "x");
  assert.match((await failure("output_failed", reader.put("data/read.json", "y"))).message, /403.*right/);
  const writer = await storeOf(`${url}?${await azurite.sasFor("blobs", "w")}`, {});
  assert.match(
    (await failure("blob_unavailable", bytesOf(writer.read("data/read.json")))).message,
    /credentials/,
  );
});

test("credentials that do not fit are an error before any request", async () => {
  const url = azurite.containerUrl("blobs");
  const other = azurite.connectionString.replace(
    /BlobEndpoint=[^;]*/,
    "BlobEndpoint=https://other.example/c",
  );
  for (const [env, says] of [
    [{ AZURE_STORAGE_CONNECTION_STRING: other }, /is for https:\/\/other\.example/],
    [{ AZURE_STORAGE_CONNECTION_STRING: "AccountKey=SECRET" }, /cannot be read/],
    [{}, /no token is sent over http/],
  ] as const) {
    const error = await failure("invalid_request", storeOf(url, env));
    assert.match(error.message, says);
    assert.doesNotMatch(inspect(error), /SECRET/);
  }
  const wrongKey = azurite.connectionString.replace(/AccountKey=..../, "AccountKey=AAAA");
  const refused = await storeOf(url, { AZURE_STORAGE_CONNECTION_STRING: wrongKey });
  await failure("blob_unavailable", refused.stat("data/read.json"));
  await failure("output_failed", refused.create("data/refused.json", "x"));
  await failure("blob_unavailable", bytesOf(refused.read("data/read.json")));
});
