/** How a store in the cloud behaves when the storage fails: a real one behind a fake, a proxy that fails as planned. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
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
import type { TransferLimits } from "../policy.ts";
import type { JobStore } from "../store.ts";
import { bytesOf, failure, LARGE } from "../store-promises.testing.ts";

export const SMALL = randomBytes(250_000);

/** One kind of storage, with functions that ask it without the proxy. */
export interface Cloud {
  /** The kinds of requests of an upload in blocks, as the proxy names them. */
  readonly steps: { readonly block: string; readonly last: string };
  /** Where the proxy forwards requests to, once the storage has started. */
  origin(): string;
  openThrough(proxy: string, limits: Partial<TransferLimits>): Promise<JobStore>;
  write(key: string, content: Buffer): Promise<unknown>;
  /** Undefined if there is no such blob. */
  read(key: string): Promise<Buffer | undefined>;
  /** The number of uploads of a key whose blocks the storage keeps until they are dropped. */
  unfinished(key: string): Promise<number>;
}

const pass = alter(() => ({}));

/** For silent faults. On a busy machine a real answer may take longer too, so there are enough attempts. */
const IMPATIENT = { attempts: 100, idleMs: 500 };

let blobs = 0;

/** Calls `use` with a store behind its own proxy, and the key of a blob that does not exist yet. */
export async function behindProxy(
  cloud: Cloud,
  use: (store: JobStore, proxy: FaultyProxy, key: string) => Promise<void>,
  limits: Partial<TransferLimits> = {},
) {
  const proxy = await startFaultyProxy(cloud.origin());
  let store: JobStore | undefined;
  try {
    store = await cloud.openThrough(proxy.origin, {
      attempts: 3,
      backoffMs: 1,
      rangeBytes: 100_000,
      ...limits,
    });
    await use(store, proxy, `data/blob-${++blobs}.json`);
  } finally {
    await store?.close();
    proxy.stop();
  }
}

export function testFaults(kind: string, cloud: Cloud): void {
  const { block, last } = cloud.steps;
  const sizes = [
    [SMALL, "PUT"],
    [LARGE, last],
  ] as const;
  const isStored = async (key: string, content: Buffer) =>
    assert.ok(content.equals((await cloud.read(key))!));
  const leavesNothing = async (key: string) => {
    assert.equal(await cloud.read(key), undefined);
    assert.equal(await cloud.unfinished(key), 0);
  };

  test(`${kind}: continues reading where it broke: refused for a while, silent, cut off within a range`, async () => {
    await behindProxy(
      cloud,
      async (store, proxy, key) => {
        await store.create(key, SMALL);
        proxy.plan("GET", refuse(503), truncate(1_000), pass, stall, fallSilent(70_000), pass);
        assert.ok((await bytesOf(store.read(key))).equals(SMALL));
        proxy.plan("GET", refuse(429), truncate(10));
        const part = await bytesOf(store.read(key, { start: 120_000, end: 130_000 }));
        assert.ok(part.equals(SMALL.subarray(120_000, 130_000)));
      },
      IMPATIENT,
    );
  });

  test(`${kind}: a request to a storage that keeps failing is an error after the configured attempts`, async () => {
    await behindProxy(cloud, async (store, proxy, key) => {
      await store.create(key, SMALL);
      for (const kind of ["GET", "HEAD", "PUT", "DELETE"]) proxy.plan(kind, ...Array(9).fill(refuse(503)));
      const asked = proxy.asked.length;
      for (const [code, attempt] of [
        ["blob_unavailable", () => bytesOf(store.read(key))],
        ["blob_unavailable", () => store.stat(key)],
        ["output_failed", () => store.create("data/x.json", "x")],
        ["output_failed", () => store.remove(key)],
      ] as const) {
        assert.match((await failure(code, attempt())).message, /503.*tried 3 times/);
      }
      assert.equal(proxy.asked.length - asked, 12);
    });
  });

  test(`${kind}: detects a blob that changes between two ranges, and another range or version than requested`, async () => {
    await behindProxy(cloud, async (store, proxy, key) => {
      await store.create(key, SMALL);
      for (const headers of [
        { "content-range": "bytes 0-99999/250001" },
        { "content-range": "bytes 1-100000/250000" },
        { etag: '"other"' },
      ]) {
        const other = alter((answer) => ({ headers: { ...answer.headers, ...headers } }));
        proxy.plan("GET", pass, other);
        await failure("blob_unavailable", bytesOf(store.read(key)));
      }
      const replaced = (async () => {
        let ranges = 0;
        for await (const _ of store.read(key))
          if (ranges++ === 0) await cloud.write(key, randomBytes(250_000));
      })();
      assert.match((await failure("blob_unavailable", replaced)).message, /changed while it was read/);
    });
  });

  test(`${kind}: retries a write if the storage fails for a while, in one request and in blocks`, async () => {
    for (const [content, step] of sizes) {
      await behindProxy(
        cloud,
        async (store, proxy, key) => {
          for (const kind of [block, step]) proxy.plan(kind, refuse(503), stall);
          await store.create(key, content);
          await isStored(key, content);
        },
        IMPATIENT,
      );
    }
  });

  test(`${kind}: a last step that succeeded although its answer was lost counts as a success, written once`, async () => {
    for (const [content, step] of sizes) {
      await behindProxy(cloud, async (store, proxy, key) => {
        proxy.plan(step, loseAnswer);
        const { etag } = await store.create(key, content);
        assert.equal((await store.stat(key))?.etag, etag);
        await isStored(key, content);
        assert.equal(await cloud.unfinished(key), 0);
        proxy.plan(step, loseAnswer, loseAnswer);
        await store.put(key, content);
        await isStored(key, content);
      });
    }
  });

  test(`${kind}: another writer's blob is not a success, even if the answer that refused the second one was lost`, async () => {
    for (const [content, step] of sizes) {
      await behindProxy(cloud, async (store, proxy, key) => {
        await cloud.write(key, Buffer.from("first"));
        proxy.plan(step, loseAnswer);
        assert.match((await failure("output_failed", store.create(key, content))).message, /exists already/);
        await isStored(key, Buffer.from("first"));
        assert.equal(await cloud.unfinished(key), 0);
      });
    }
  });

  test(`${kind}: a write that fails or is cancelled leaves nothing`, async () => {
    await behindProxy(cloud, async (store, proxy, key) => {
      for (const step of [block, last]) {
        proxy.plan(step, refuse(403));
        assert.match((await failure("output_failed", store.create(key, LARGE))).message, /403.*right/);
        await leavesNothing(key);
      }
      const abort = new AbortController();
      proxy.plan(block, () => abort.abort());
      await failure("canceled", store.create(key, LARGE, { signal: abort.signal }));
      await leavesNothing(key);
    });
  });

  test(`${kind}: refuses a redirect in reading and in writing, and does not follow it`, async () => {
    await behindProxy(cloud, async (store, proxy, key) => {
      const redirect = alter(() => ({ status: 307, headers: { location: `${cloud.origin()}/x?sig=y` } }));
      for (const kind of ["GET", "HEAD", "PUT"]) proxy.plan(kind, redirect);
      const asked = proxy.asked.length;
      await failure("url_not_allowed", bytesOf(store.read(key)));
      await failure("url_not_allowed", store.stat(key));
      await failure("url_not_allowed", store.create(key, SMALL));
      assert.equal(proxy.asked.length - asked, 3);
    });
  });

  test(`${kind}: a storage that cannot be reached is an error`, async () => {
    await behindProxy(cloud, async (store, proxy, key) => {
      proxy.stop();
      const { message } = await failure("blob_unavailable", store.stat(key));
      assert.match(message, /ECONNREFUSED.*tried 3 times/);
      await failure("output_failed", store.create(key, "x"));
      await failure("blob_unavailable", bytesOf(store.read(key)));
    });
  });
}
