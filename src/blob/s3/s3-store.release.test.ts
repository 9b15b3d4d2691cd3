import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { inspect } from "node:util";
import { HeadObjectCommand, ListMultipartUploadsCommand, ListObjectsV2Command } from "@aws-sdk/client-s3";
import { CERTIFICATE } from "../../../test/servers/azurite.testing.ts";
import {
  type S3Environment,
  type SeaweedFs,
  startSeaweedFs,
} from "../../../test/servers/seaweedfs.testing.ts";
import { openBlob } from "../open-blob.ts";
import { openStore } from "../open-store.ts";
import { policyOf } from "../policy.ts";
import type { JobStore } from "../store.ts";
import { bytesOf, failure, LARGE, testPromises } from "../store-promises.testing.ts";

let server: SeaweedFs;
let store: JobStore;
const opened: JobStore[] = [];

before(async () => {
  server = await startSeaweedFs();
  await server.newBucket("models");
  store = await storeOf("s3://models/team");
});
after(async () => {
  for (const each of opened) await each.close();
  await server.stop();
});

async function storeOf(blobUrl: string, env: S3Environment = server.env()): Promise<JobStore> {
  const policy = policyOf({ allowed: [], privateOrigins: [server.origin], blobUrl });
  const limits = { attempts: 2, backoffMs: 1, rangeBytes: 1_000_000 };
  const result = await openStore(blobUrl, { policy, env, limits });
  opened.push(result);
  return result;
}

testPromises("S3", () => store);

test("a blob is at its key in the bucket, with its media type", async () => {
  await store.within("key-0123456789abcdef").put("data/feature_engine_1.parquet", "x");
  const Key = "team/key-0123456789abcdef/data/feature_engine_1.parquet";
  const { ContentType } = await server.client.send(new HeadObjectCommand({ Bucket: "models", Key }));
  assert.equal(ContentType, "application/vnd.apache.parquet");
  const root = await storeOf("s3://models");
  await root.put("data/root.json", "{}");
  const { Contents } = await server.client.send(
    new ListObjectsV2Command({ Bucket: "models", Prefix: "data/" }),
  );
  assert.deepEqual(
    Contents?.map(({ Key }) => Key),
    ["data/root.json"],
  );
});

test("of two writers that have sent all their parts, the second one fails, and no part is left", async () => {
  const last = Promise.withResolvers<void>();
  async function* waiting() {
    yield LARGE;
    await last.promise;
  }
  const late = store.create("data/parts.json", waiting());
  await store.create("data/parts.json", LARGE);
  last.resolve();
  assert.match((await failure("output_failed", late)).message, /exists already/);
  assert.ok((await bytesOf(store.read("data/parts.json"))).equals(LARGE));
  const { Uploads = [] } = await server.client.send(new ListMultipartUploadsCommand({ Bucket: "models" }));
  assert.deepEqual(
    Uploads.map(({ Key }) => Key),
    [],
  );
});

test("a missing bucket is an error before the job, and at every use", async () => {
  const missing = await storeOf("s3://nowhere/team");
  const error = await failure("output_failed", missing.checkNew("data/o.json"));
  assert.match(error.message, /^s3:\/\/nowhere\/team\/data\/o\.json could not be written.*no bucket nowhere/);
  const created = await failure("output_failed", missing.create("data/o.json", "x"));
  assert.match(created.message, /NoSuchBucket/);
  await failure("blob_unavailable", missing.stat("data/o.json"));
});

test("keys that may only read, or are wrong, grant only their rights", async () => {
  const reader = await storeOf("s3://models/team", server.env("read"));
  await store.put("data/read.json", "x");
  assert.equal((await bytesOf(reader.read("data/read.json"))).toString(), "x");
  const refused = await failure("output_failed", reader.put("data/read.json", "y"));
  assert.match(refused.message, /403 AccessDenied.*right/);
  const wrong = await storeOf("s3://models/team", { ...server.env(), AWS_SECRET_ACCESS_KEY: "wrong" });
  await failure("blob_unavailable", wrong.stat("data/read.json"));
  await failure("output_failed", wrong.create("data/refused.json", "x"));
  const unread = await failure("blob_unavailable", bytesOf(wrong.read("data/read.json")));
  assert.match(unread.message, /403 SignatureDoesNotMatch/);
});

test("opens an input in the bucket of BLOB_URL, and one in another allowed bucket", async () => {
  await server.newBucket("elsewhere");
  const input = "data/feature_engine_1.json";
  await store.put(input, "own");
  await (await storeOf("s3://elsewhere")).put(input, "other");
  const policy = policyOf({
    allowed: ["s3://models/team", "s3://elsewhere"],
    privateOrigins: [server.origin],
    blobUrl: "s3://models/team",
  });
  const { env } = process;
  process.env = { ...env, ...server.env() };
  after(() => {
    process.env = env;
  });
  for (const [url, text] of [
    [`s3://models/team/${input}`, "own"],
    [`s3://elsewhere/${input}`, "other"],
  ] as const) {
    const blob = await openBlob(url, policy);
    assert.equal(blob.name, url);
    assert.equal((await bytesOf(blob.chunks)).toString(), text);
  }
  await failure("url_not_allowed", openBlob(`s3://models/${input}`, policy));
  await failure("url_not_allowed", openBlob(`s3://elsewhere/${input}?X-Amz-Signature=secret`, policy));
  await failure("blob_not_found", openBlob("s3://elsewhere/data/feature_engine_2.json", policy));
});

test("opens an input by a presigned URL, without credentials, and refuses it once the signature is wrong", async () => {
  await store.put("data/data_extractor_1.json", "signed");
  const url = new URL(`${server.origin}/models/team/data/data_extractor_1.json`);
  const { protocol, hostname, host, pathname: path } = url;
  const signer = await server.client.config.signer();
  assert.ok("presign" in signer && typeof signer.presign === "function");
  const headers = { host, "x-amz-content-sha256": "UNSIGNED-PAYLOAD" };
  const { query } = await signer.presign(
    { method: "GET", protocol, hostname, port: Number(url.port), path, query: {}, headers },
    { expiresIn: 60 },
  );
  for (const [name, value] of Object.entries<string>(query)) url.searchParams.set(name, value);
  const policy = policyOf({
    allowed: [`${server.origin}/models/team`],
    privateOrigins: [server.origin],
  });
  const blob = await openBlob(url.href, policy);
  assert.equal(blob.name, `${server.origin}/models/team/data/data_extractor_1.json`);
  assert.equal((await bytesOf(blob.chunks)).toString(), "signed");
  url.searchParams.set("X-Amz-Signature", "0".repeat(64));
  const refused = await failure("blob_unavailable", openBlob(url.href, policy));
  assert.match(refused.message, /403 SignatureDoesNotMatch.*signature/);
});

test("an endpoint must be https, or a listed loopback origin, and may not be private unless it is listed", async () => {
  const open = (AWS_ENDPOINT_URL: string, privateOrigins: string[] = []) =>
    openStore("s3://models", {
      policy: policyOf({ allowed: [], privateOrigins, blobUrl: "s3://models" }),
      env: { ...server.env(), AWS_ENDPOINT_URL },
    });
  await failure("invalid_request", open("http://s3.example.com"));
  await failure("invalid_request", open(server.origin));
  await failure("url_not_allowed", open("https://10.0.0.1"));
  opened.push(await open("https://10.0.0.1", ["https://10.0.0.1"]), await open("https://s3.example.com"));
  const local = await open("https://localhost:9000");
  opened.push(local);
  await failure("url_not_allowed", local.stat("data/x.json"));
  await failure("url_not_allowed", local.create("data/x.json", "x"));
  await failure("url_not_allowed", bytesOf(local.read("data/x.json")));
});

test("reads and writes over https with a trusted certificate, and does not retry with another", async () => {
  const secure = await startSeaweedFs({ secure: true });
  const open = (ca?: string) =>
    openStore("s3://models", {
      policy: policyOf({ allowed: [], privateOrigins: [secure.origin], blobUrl: "s3://models" }),
      env: secure.env(),
      ca,
    });
  try {
    await secure.newBucket("models");
    const [trusting, doubting] = [await open(readFileSync(CERTIFICATE, "utf8")), await open()];
    opened.push(trusting, doubting);
    await trusting.create("data/secure.json", "secure");
    assert.equal((await bytesOf(trusting.read("data/secure.json"))).toString(), "secure");
    for (const [code, attempt] of [
      ["output_failed", () => doubting.create("data/x.json", "x")],
      ["blob_unavailable", () => doubting.stat("data/secure.json")],
      ["blob_unavailable", () => bytesOf(doubting.read("data/secure.json"))],
    ] as const) {
      const { message } = await failure(code, attempt());
      assert.match(message, /certificate is not trusted/);
      assert.doesNotMatch(message, /tried/);
    }
  } finally {
    await secure.stop();
  }
});

test("settings that do not fit are an error before any request, without a secret", async () => {
  const env = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "SECRET", AWS_REGION: "eu-west-1" };
  for (const [blobUrl, more, says] of [
    ["s3://models?X-Amz-Signature=SECRET", {}, /query string/],
    ["s3://Models", {}, /s3:\/\/bucket/],
    ["s3://models", { MUCAST_S3_PATH_STYLE: "maybe" }, /true or false/],
  ] as const) {
    const attempt = (async () => openStore(blobUrl, { policy: { allowed: [] }, env: { ...env, ...more } }))();
    const error = await failure("invalid_request", attempt);
    assert.match(error.message, says);
    assert.doesNotMatch(inspect(error), /SECRET/);
  }
});
