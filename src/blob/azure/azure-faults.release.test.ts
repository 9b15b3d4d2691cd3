/** How the Azure store behaves when the storage fails: a real Azurite behind a fake, a proxy that fails as planned. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { inspect } from "node:util";
import type { ContainerClient } from "@azure/storage-blob";
import { type Azurite, startAzurite } from "../../../test/servers/azurite.testing.ts";
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
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { openStore } from "../open-store.ts";
import { policyOf } from "../policy.ts";
import type { JobStore } from "../store.ts";

const SMALL = randomBytes(250_000);
/** Three blocks of an upload. */
const LARGE = randomBytes(9 * 2 ** 20);

let azurite: Azurite;
let container: ContainerClient;
let sas: string;
before(async () => {
  azurite = await startAzurite();
  container = await azurite.newContainer("models");
  sas = await azurite.sasFor("models", "rcwd");
});
after(() => azurite.stop());

const pass = alter(() => ({}));

/** For silent faults. On a busy machine a real answer may take longer too, so there are enough attempts. */
const IMPATIENT = { attempts: 100, idleMs: 500 };

let blobs = 0;

/** A store behind its own proxy, and the key of a blob that does not exist yet. */
async function behindProxy(
  use: (store: JobStore, proxy: FaultyProxy, key: string) => Promise<void>,
  { attempts = 3, idleMs = 60_000 } = {},
) {
  const proxy = await startFaultyProxy(azurite.origin);
  const blobUrl = azurite.containerUrl("models").replace(azurite.origin, proxy.origin);
  const policy = policyOf({ allowed: [], privateOrigins: [proxy.origin], blobUrl });
  const limits = { attempts, backoffMs: 1, idleMs, rangeBytes: 100_000 };
  const store = await openStore(`${blobUrl}?${sas}`, { policy, env: {}, limits });
  try {
    await use(store, proxy, `data/blob-${++blobs}.json`);
  } finally {
    await store.close();
    proxy.stop();
  }
}

async function failure(code: ErrorCode, attempt: Promise<unknown>): Promise<MucastError> {
  const error = await attempt.then(() => assert.fail("nothing was thrown")).catch((error: unknown) => error);
  assert.ok(error instanceof MucastError, inspect(error));
  assert.equal(error.code, code, error.message);
  assert.doesNotMatch(inspect(error, { depth: 20, showHidden: true }), /sig=/);
  return error;
}

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

async function isStored(key: string, content: Buffer): Promise<void> {
  assert.ok((await container.getBlobClient(key).downloadToBuffer()).equals(content));
}

async function isMissing(key: string): Promise<void> {
  assert.equal(await container.getBlobClient(key).exists(), false);
}

test("continues reading where it broke: refused for a while, silent, cut off within a range", async () => {
  await behindProxy(async (store, proxy, key) => {
    await store.create(key, SMALL);
    proxy.plan("GET", refuse(503), truncate(1_000), pass, stall, fallSilent(70_000), pass);
    assert.ok((await bytesOf(store.read(key))).equals(SMALL));
    proxy.plan("GET", refuse(429), truncate(10));
    const part = await bytesOf(store.read(key, { start: 120_000, end: 130_000 }));
    assert.ok(part.equals(SMALL.subarray(120_000, 130_000)));
  }, IMPATIENT);
});

test("a request to a storage that keeps failing is an error after the configured attempts", async () => {
  await behindProxy(async (store, proxy, key) => {
    await store.create(key, SMALL);
    for (const kind of ["GET", "HEAD", "PUT", "DELETE"]) proxy.plan(kind, ...Array(9).fill(refuse(503)));
    const asked = proxy.asked.length;
    assert.match((await failure("blob_unavailable", bytesOf(store.read(key)))).message, /503.*tried 3 times/);
    assert.match((await failure("blob_unavailable", store.stat(key))).message, /503.*tried 3 times/);
    assert.match((await failure("output_failed", store.create("data/x.json", "x"))).message, /503.*tried 3/);
    assert.match((await failure("output_failed", store.remove(key))).message, /503.*tried 3 times/);
    assert.equal(proxy.asked.length - asked, 12);
  });
});

test("detects a blob that changes between two ranges, or does not match its MD5", async () => {
  await behindProxy(async (store, _, key) => {
    await store.create(key, SMALL);
    const replaced = (async () => {
      let ranges = 0;
      for await (const _ of store.read(key)) {
        if (ranges++ === 0) await container.getBlockBlobClient(key).upload(SMALL, SMALL.length);
      }
    })();
    assert.match((await failure("blob_unavailable", replaced)).message, /changed while it was read/);
  });
  await behindProxy(async (store, proxy, key) => {
    await store.create(key, SMALL);
    const flip = alter(({ body }) => ({ body: Buffer.concat([body.subarray(0, -1), Buffer.from("x")]) }));
    proxy.plan("GET", flip);
    assert.match((await failure("blob_unavailable", bytesOf(store.read(key)))).message, /MD5/);
    const { chunks } = await store.open(key);
    assert.ok((await bytesOf(chunks)).equals(SMALL));
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

test("retries a write if the storage fails for a while, in one block and in many", async () => {
  for (const [content, kinds] of [
    [SMALL, ["PUT"]],
    [LARGE, ["PUT block", "PUT blocklist"]],
  ] as const) {
    await behindProxy(async (store, proxy, key) => {
      for (const kind of kinds) proxy.plan(kind, refuse(503), stall);
      await store.create(key, content);
      await isStored(key, content);
    }, IMPATIENT);
  }
});

test("a last step that succeeded although its answer was lost counts as a success, written once", async () => {
  for (const [content, kind] of [
    [SMALL, "PUT"],
    [LARGE, "PUT blocklist"],
  ] as const) {
    await behindProxy(async (store, proxy, key) => {
      proxy.plan(kind, loseAnswer);
      const { etag } = await store.create(key, content);
      assert.equal((await store.stat(key))?.etag, etag);
      await isStored(key, content);
    });
    await behindProxy(async (store, proxy, key) => {
      proxy.plan(kind, loseAnswer, loseAnswer);
      await store.put(key, content);
      await isStored(key, content);
    });
  }
});

test("does not store a block that is damaged in transit, and nothing becomes visible", async () => {
  await behindProxy(
    async (store, proxy, key) => {
      proxy.plan("PUT block", ...Array(3).fill(stall));
      assert.match(
        (await failure("output_failed", store.create(key, LARGE))).message,
        /no answer.*tried 3 times/,
      );
      await isMissing(key);
    },
    { idleMs: 500 },
  );
  await behindProxy(async (store, proxy, key) => {
    proxy.plan("PUT blocklist", refuse(403));
    assert.match((await failure("output_failed", store.create(key, LARGE))).message, /403.*right/);
    await isMissing(key);
  });
});

test("removes a blob of another length than was written", async () => {
  await behindProxy(async (store, proxy, key) => {
    proxy.plan(
      "HEAD",
      alter(({ headers }) => ({ headers: { ...headers, "content-length": "5" } })),
    );
    assert.match(
      (await failure("output_failed", store.create(key, LARGE))).message,
      /5 bytes were stored of/,
    );
    await isMissing(key);
  });
});

test("refuses a redirect in reading and in writing, and does not follow it", async () => {
  await behindProxy(async (store, proxy, key) => {
    const redirect = alter(() => ({ status: 307, headers: { location: `${azurite.origin}/x?sig=y` } }));
    for (const kind of ["GET", "HEAD", "PUT"]) proxy.plan(kind, redirect);
    await failure("url_not_allowed", bytesOf(store.read(key)));
    await failure("url_not_allowed", store.stat(key));
    await failure("url_not_allowed", store.create(key, SMALL));
  });
});

test("a cancelled write ends at once, even while the storage is silent, and leaves nothing", async () => {
  await behindProxy(async (store, proxy, key) => {
    const abort = new AbortController();
    proxy.plan("PUT block", () => abort.abort());
    await failure("canceled", store.create(key, LARGE, { signal: abort.signal }));
    await isMissing(key);
  });
});
