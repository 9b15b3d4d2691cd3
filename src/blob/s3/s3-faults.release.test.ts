/** How the store in S3 behaves when the storage fails: a real SeaweedFS behind a fake, a proxy that fails as planned. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { GetObjectCommand, ListMultipartUploadsCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import {
  alter,
  type FaultyProxy,
  fallSilent,
  loseAnswer,
  refuse,
  stall,
  startFaultyProxy,
  truncate,
} from "../../../test/servers/faulty-proxy.testing.ts";
import {
  type S3Environment,
  type SeaweedFs,
  startSeaweedFs,
} from "../../../test/servers/seaweedfs.testing.ts";
import { openStore } from "../open-store.ts";
import { policyOf } from "../policy.ts";
import type { JobStore } from "../store.ts";
import { bytesOf, failure, LARGE } from "../store-promises.testing.ts";

const SMALL = randomBytes(250_000);

let server: SeaweedFs;
before(async () => {
  server = await startSeaweedFs();
  await server.newBucket("models");
});
after(() => server.stop());

const pass = alter(() => ({}));
const slowDown = refuse(503, "SlowDown");

let blobs = 0;

interface Behind {
  readonly attempts?: number;
  readonly idleMs?: number;
  readonly env?: S3Environment;
}

/** A store behind its own proxy, and the key of a blob that does not exist yet. */
async function behindProxy(
  use: (store: JobStore, proxy: FaultyProxy, key: string) => Promise<void>,
  { attempts = 3, idleMs = 60_000, env = {} }: Behind = {},
) {
  const proxy = await startFaultyProxy(server.origin);
  const policy = policyOf({ allowed: [], privateOrigins: [proxy.origin], blobUrl: "s3://models" });
  const limits = { attempts, backoffMs: 1, idleMs, rangeBytes: 100_000 };
  let store: JobStore | undefined;
  try {
    const variables = { ...server.env("all", proxy.origin), ...env };
    store = await openStore("s3://models", { policy, env: variables, limits });
    await use(store, proxy, `data/blob-${++blobs}.json`);
  } finally {
    await store?.close();
    proxy.stop();
  }
}

/** For silent faults. On a busy machine a real answer may take longer too, so there are enough attempts. */
const IMPATIENT = { attempts: 40, idleMs: 500 };

async function isStored(key: string, content: Buffer): Promise<void> {
  const { Body } = await server.client.send(new GetObjectCommand({ Bucket: "models", Key: key }));
  assert.ok(content.equals(await Body!.transformToByteArray()));
}

async function isMissing(key: string): Promise<void> {
  const command = new GetObjectCommand({ Bucket: "models", Key: key });
  await assert.rejects(server.client.send(command), { name: "NoSuchKey" });
}

/** The number of uploads of a key whose parts the storage keeps. */
async function unfinished(key: string): Promise<number> {
  const { Uploads = [] } = await server.client.send(new ListMultipartUploadsCommand({ Bucket: "models" }));
  return Uploads.filter(({ Key }) => Key === key).length;
}

test("continues reading where it broke: SlowDown for a while, silent, cut off within a range", async () => {
  await behindProxy(async (store, proxy, key) => {
    await store.create(key, SMALL);
    proxy.plan("GET", slowDown, truncate(1_000), pass, stall, fallSilent(70_000), pass);
    assert.ok((await bytesOf(store.read(key))).equals(SMALL));
    proxy.plan("GET", refuse(429), truncate(10));
    const part = await bytesOf(store.read(key, { start: 120_000, end: 130_000 }));
    assert.ok(part.equals(SMALL.subarray(120_000, 130_000)));
  }, IMPATIENT);
});

test("every request of a read has its own signature, so that credentials may be renewed meanwhile", async () => {
  await behindProxy(async (store, proxy, key) => {
    await store.create(key, SMALL);
    const ids = new Set<unknown>();
    const record = async (ask: () => Promise<unknown>, response: unknown, request: { headers: object }) => {
      ids.add((request.headers as Record<string, unknown>)["amz-sdk-invocation-id"]);
      return pass(ask as never, response as never, request as never);
    };
    proxy.plan("GET", record, record, record);
    assert.ok((await bytesOf(store.read(key))).equals(SMALL));
    assert.equal(ids.size, 3);
  });
});

test("a request to a storage that keeps failing is an error after the configured attempts", async () => {
  await behindProxy(async (store, proxy, key) => {
    await store.create(key, SMALL);
    for (const kind of ["GET", "HEAD", "PUT", "DELETE"]) proxy.plan(kind, ...Array(9).fill(slowDown));
    const asked = proxy.asked.length;
    const unread = await failure("blob_unavailable", bytesOf(store.read(key)));
    assert.match(unread.message, /503 SlowDown.*tried 3 times/);
    assert.match((await failure("blob_unavailable", store.stat(key))).message, /503.*tried 3 times/);
    const unwritten = await failure("output_failed", store.create("data/x.json", "x"));
    assert.match(unwritten.message, /503 SlowDown.*tried 3 times/);
    assert.match((await failure("output_failed", store.remove(key))).message, /503 SlowDown.*tried 3 times/);
    assert.equal(proxy.asked.length - asked, 12);
  });
});

test("a storage that cannot be reached is an error", async () => {
  await behindProxy(async (store, proxy, key) => {
    proxy.stop();
    assert.match((await failure("blob_unavailable", store.stat(key))).message, /ECONNREFUSED.*tried 3 times/);
    assert.match((await failure("output_failed", store.create(key, "x"))).message, /ECONNREFUSED/);
    await failure("blob_unavailable", bytesOf(store.read(key)));
  });
});

test("detects a blob that changes between two ranges", async () => {
  await behindProxy(async (store, _, key) => {
    await store.create(key, SMALL);
    const replaced = (async () => {
      let ranges = 0;
      for await (const _ of store.read(key)) {
        if (ranges++ > 0) continue;
        await server.client.send(
          new PutObjectCommand({ Bucket: "models", Key: key, Body: randomBytes(250_000) }),
        );
      }
    })();
    assert.match((await failure("blob_unavailable", replaced)).message, /changed while it was read/);
  });
});

test("rejects an answer with another length, range or version than requested", async () => {
  await behindProxy(async (store, proxy, key) => {
    await store.create(key, SMALL);
    for (const headers of [
      { "content-range": "bytes 0-99999/250001" },
      { "content-range": "bytes 1-100000/250000" },
      { etag: '"other"' },
    ]) {
      proxy.plan(
        "GET",
        pass,
        alter((answer) => ({ headers: { ...answer.headers, ...headers } })),
      );
      await failure("blob_unavailable", bytesOf(store.read(key)));
    }
  });
});

test("retries a write if the storage fails for a while, in one request and in parts", async () => {
  for (const [content, kinds] of [
    [SMALL, ["PUT"]],
    [LARGE, ["POST uploads", "PUT part", "POST upload"]],
  ] as const) {
    await behindProxy(async (store, proxy, key) => {
      for (const kind of kinds) proxy.plan(kind, slowDown, refuse(500, "InternalError"), stall);
      await store.create(key, content);
      await isStored(key, content);
    }, IMPATIENT);
  }
});

test("repeats a last step whose answer is 200 with an error in its body", async () => {
  await behindProxy(async (store, proxy, key) => {
    proxy.plan("POST upload", refuse(200, "InternalError"));
    await store.create(key, LARGE);
    await isStored(key, LARGE);
  });
});

test("a last step that succeeded although its answer was lost counts as a success, written once", async () => {
  for (const [content, kind] of [
    [SMALL, "PUT"],
    [LARGE, "POST upload"],
  ] as const) {
    await behindProxy(async (store, proxy, key) => {
      proxy.plan(kind, loseAnswer);
      const { etag } = await store.create(key, content);
      assert.equal((await store.stat(key))?.etag, etag);
      await isStored(key, content);
      assert.equal(await unfinished(key), 0);
    });
    await behindProxy(async (store, proxy, key) => {
      proxy.plan(kind, loseAnswer, loseAnswer);
      await store.put(key, content);
      await isStored(key, content);
    });
  }
});

test("another writer's blob is not a success, even if the answer that refused the second one was lost", async () => {
  for (const [content, kind] of [
    [SMALL, "PUT"],
    [LARGE, "POST upload"],
  ] as const) {
    await behindProxy(async (store, proxy, key) => {
      await server.client.send(new PutObjectCommand({ Bucket: "models", Key: key, Body: "first" }));
      proxy.plan(kind, loseAnswer);
      assert.match((await failure("output_failed", store.create(key, content))).message, /exists already/);
      await isStored(key, Buffer.from("first"));
      assert.equal(await unfinished(key), 0);
    });
  }
});

test("a conflict of two last steps is an error if neither has won", async () => {
  await behindProxy(async (store, proxy, key) => {
    proxy.plan("PUT", refuse(409, "ConditionalRequestConflict"));
    const error = await failure("output_failed", store.create(key, SMALL));
    assert.match(error.message, /409 ConditionalRequestConflict/);
    await isMissing(key);
  });
});

test("a part that is damaged in transit is not stored", async () => {
  await behindProxy(async (store, _, key) => {
    await store.create(key, SMALL);
    const damaged = new PutObjectCommand({
      Bucket: "models",
      Key: key,
      Body: "damaged",
      ChecksumCRC32: "AAAAAA==",
    });
    await assert.rejects(server.client.send(damaged));
    await isStored(key, SMALL);
  });
});

test("a write that fails leaves nothing visible and no parts", async () => {
  for (const [kind, fault, says] of [
    ["PUT part", refuse(403, "AccessDenied"), /403 AccessDenied.*right/],
    ["POST upload", refuse(403, "AccessDenied"), /403 AccessDenied.*right/],
    ["PUT part", refuse(400, "ExpiredToken"), /400 ExpiredToken.*expired/],
  ] as const) {
    await behindProxy(async (store, proxy, key) => {
      proxy.plan(kind, fault);
      assert.match((await failure("output_failed", store.create(key, LARGE))).message, says);
      await isMissing(key);
      assert.equal(await unfinished(key), 0);
    });
  }
});

test("expired credentials are an error that says so, at once", async () => {
  await behindProxy(async (store, proxy, key) => {
    await store.create(key, SMALL);
    const expired = refuse(400, "ExpiredToken");
    for (const kind of ["GET", "PUT", "DELETE"]) proxy.plan(kind, expired);
    proxy.plan("HEAD", refuse(400));
    const asked = proxy.asked.length;
    for (const [code, attempt] of [
      ["blob_unavailable", () => bytesOf(store.read(key))],
      ["output_failed", () => store.create("data/x.json", "x")],
      ["output_failed", () => store.remove(key)],
    ] as const) {
      assert.match((await failure(code, attempt())).message, /ExpiredToken.*expired/);
    }
    assert.match((await failure("blob_unavailable", store.stat(key))).message, /400/);
    assert.equal(proxy.asked.length - asked, 4);
  });
});

test("without credentials, the error names the variables", async () => {
  const { env } = process;
  const none = { AWS_EC2_METADATA_DISABLED: "true", AWS_CONFIG_FILE: "/dev/null" };
  process.env = { ...none, AWS_SHARED_CREDENTIALS_FILE: "/dev/null", HOME: "/nonexistent" };
  try {
    await behindProxy(
      async (store, _, key) => {
        assert.match((await failure("blob_unavailable", store.stat(key))).message, /give AWS_ACCESS_KEY_ID/);
        await failure("blob_unavailable", bytesOf(store.read(key)));
        await failure("output_failed", store.create(key, "x"));
      },
      { env: { AWS_ACCESS_KEY_ID: "" } },
    );
  } finally {
    process.env = env;
  }
});

test("refuses a redirect in reading and in writing, and does not follow it", async () => {
  await behindProxy(async (store, proxy, key) => {
    const redirect = alter(() => ({ status: 301, headers: { location: `${server.origin}/x` } }));
    for (const kind of ["GET", "HEAD", "PUT"]) proxy.plan(kind, redirect);
    await failure("url_not_allowed", bytesOf(store.read(key)));
    assert.match((await failure("url_not_allowed", store.stat(key))).message, /AWS_REGION/);
    await failure("url_not_allowed", store.create(key, SMALL));
  });
});

test("a cancelled write ends at once, even while the storage is silent, and leaves nothing", async () => {
  await behindProxy(async (store, proxy, key) => {
    const abort = new AbortController();
    proxy.plan("PUT part", () => abort.abort());
    await failure("canceled", store.create(key, LARGE, { signal: abort.signal }));
    await isMissing(key);
    assert.equal(await unfinished(key), 0);
  });
});
