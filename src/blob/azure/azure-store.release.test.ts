import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { inspect } from "node:util";
import type { ContainerClient } from "@azure/storage-blob";
import { type Azurite, startAzurite } from "../../../test/servers/azurite.testing.ts";
import { openStore } from "../open-store.ts";
import { policyOf } from "../policy.ts";
import type { JobStore } from "../store.ts";
import { bytesOf, failure, LARGE, testPromises } from "../store-promises.testing.ts";

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

testPromises("Azure", () => store);

test("a blob carries its MD5, in one block and in many", async () => {
  for (const content of [Buffer.from("{}"), LARGE]) {
    await store.put("data/digests.json", content);
    const { contentMD5 } = await container.getBlobClient("data/digests.json").getProperties();
    assert.ok(createHash("md5").update(content).digest().equals(contentMD5!));
  }
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
