import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { GetObjectCommand, ListMultipartUploadsCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { alter, refuse } from "../../../test/servers/faulty-proxy.testing.ts";
import { type SeaweedFs, startSeaweedFs } from "../../../test/servers/seaweedfs.testing.ts";
import { openStore } from "../open-store.ts";
import { policyOf } from "../policy.ts";
import { behindProxy, type Cloud, SMALL, testFaults } from "../remote/cloud-faults.testing.ts";
import { bytesOf, failure, LARGE } from "../store-promises.testing.ts";

let server: SeaweedFs;
before(async () => {
  server = await startSeaweedFs();
  await server.newBucket("models");
});
after(() => server.stop());

const Bucket = "models";

const cloud: Cloud = {
  steps: { block: "PUT part", last: "POST upload" },
  origin: () => server.origin,
  openThrough(proxy, limits) {
    const policy = policyOf({ allowed: [], privateOrigins: [proxy], blobUrl: "s3://models" });
    return openStore("s3://models", { policy, env: server.env("all", proxy), limits });
  },
  write: (Key, Body) => server.client.send(new PutObjectCommand({ Bucket, Key, Body })),
  async read(Key) {
    try {
      const { Body } = await server.client.send(new GetObjectCommand({ Bucket, Key }));
      return Buffer.from(await Body!.transformToByteArray());
    } catch (error) {
      if ((error as Error).name === "NoSuchKey") return undefined;
      throw error;
    }
  },
  async unfinished(key) {
    const { Uploads = [] } = await server.client.send(new ListMultipartUploadsCommand({ Bucket }));
    return Uploads.filter(({ Key }) => Key === key).length;
  },
};

testFaults("S3", cloud);

test("every request of a read has its own signature, so that credentials may be renewed meanwhile", async () => {
  await behindProxy(cloud, async (store, proxy, key) => {
    await store.create(key, SMALL);
    const ids = new Set<unknown>();
    const pass = alter(() => ({}));
    const record: typeof pass = (ask, response, request) => {
      ids.add(request.headers["amz-sdk-invocation-id"]);
      return pass(ask, response, request);
    };
    proxy.plan("GET", record, record, record);
    assert.ok((await bytesOf(store.read(key))).equals(SMALL));
    assert.equal(ids.size, 3);
  });
});

test("repeats a last step whose answer is 200 with an error in its body", async () => {
  await behindProxy(cloud, async (store, proxy, key) => {
    proxy.plan("POST upload", refuse(200, "InternalError"));
    await store.create(key, LARGE);
    assert.ok((await cloud.read(key))!.equals(LARGE));
  });
});

test("a conflict of two last steps is an error if neither has won", async () => {
  await behindProxy(cloud, async (store, proxy, key) => {
    proxy.plan("PUT", refuse(409, "ConditionalRequestConflict"));
    const error = await failure("output_failed", store.create(key, SMALL));
    assert.match(error.message, /409 ConditionalRequestConflict/);
    assert.equal(await cloud.read(key), undefined);
  });
});

test("expired credentials are an error that says so, at once", async () => {
  await behindProxy(cloud, async (store, proxy, key) => {
    await store.create(key, SMALL);
    for (const kind of ["GET", "PUT", "DELETE"]) proxy.plan(kind, refuse(400, "ExpiredToken"));
    const asked = proxy.asked.length;
    for (const [code, attempt] of [
      ["blob_unavailable", () => bytesOf(store.read(key))],
      ["output_failed", () => store.create("data/x.json", "x")],
      ["output_failed", () => store.remove(key)],
    ] as const) {
      assert.match((await failure(code, attempt())).message, /ExpiredToken.*expired/);
    }
    assert.equal(proxy.asked.length - asked, 3);
  });
});

test("without credentials, the error names the variables", async () => {
  const { env } = process;
  const none = { AWS_EC2_METADATA_DISABLED: "true", AWS_CONFIG_FILE: "/dev/null" };
  process.env = { ...none, AWS_SHARED_CREDENTIALS_FILE: "/dev/null", HOME: "/nonexistent" };
  const policy = policyOf({ allowed: [], privateOrigins: [server.origin], blobUrl: "s3://models" });
  const store = await openStore("s3://models", { policy, env: { AWS_ENDPOINT_URL: server.origin } });
  try {
    const { message } = await failure("blob_unavailable", store.stat("data/x.json"));
    assert.match(message, /give AWS_ACCESS_KEY_ID/);
    await failure("blob_unavailable", bytesOf(store.read("data/x.json")));
    await failure("output_failed", store.create("data/x.json", "x"));
  } finally {
    await store.close();
    process.env = env;
  }
});
