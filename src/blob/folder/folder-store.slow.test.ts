import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import type { MucastError } from "../../contract/errors/errors.ts";
import { openBlob } from "../open-blob.ts";
import { openOutput, openStore } from "../open-store.ts";
import { bytesOf, failure as failureOf, testPromises } from "../store-promises.testing.ts";
import { FolderStore } from "./folder-store.ts";

const BASE = "http://127.0.0.1:8080";
const root = mkdtempSync(join(tmpdir(), "mucast-store-"));
after(() => rmSync(root, { recursive: true }));

let folders = 0;
function freshFolder(): string {
  return join(root, `f${folders++}`);
}

/** Checks that no failure discloses the path of the folder. */
async function failure(code: ErrorCode, attempt: Promise<unknown>): Promise<MucastError> {
  const error = await failureOf(code, attempt);
  assert.ok(!JSON.stringify([error.message, error.data]).includes(root), error.message);
  return error;
}

const textOf = async (chunks: AsyncIterable<Uint8Array>) => (await bytesOf(chunks)).toString();

const promised = new FolderStore(freshFolder(), BASE);
testPromises("a folder", () => promised);

test("a version has its own tag, and keeps it", async () => {
  const folder = freshFolder();
  const store = new FolderStore(folder, BASE);
  const tags: string[] = [];
  for (const text of ["first", "other"]) {
    const { etag } = await store.put("status/a.1.json", text);
    tags.push(etag);
    assert.equal((await new FolderStore(folder, BASE).stat("status/a.1.json"))?.etag, etag);
  }
  assert.notEqual(tags[0], tags[1]);
  const { etag } = await store.create("data/linked.json", "x");
  assert.equal((await store.stat("data/linked.json"))?.etag, etag);
});

test("a reader of one version gets all of it while it is replaced, and an error later", async () => {
  const store = new FolderStore(freshFolder(), BASE);
  const first = await store.put("data/a.json", "1".repeat(3_000_000));
  const reading = store.read("data/a.json", { etag: first.etag })[Symbol.asyncIterator]();
  await reading.next();
  assert.equal((await store.put("data/a.json", "2".repeat(3_000_000))).created, false);
  const rest = await textOf({ [Symbol.asyncIterator]: () => reading });
  assert.match(rest, /^1+$/);
  const late = textOf(store.read("data/a.json", { etag: first.etag }));
  assert.match((await failure("blob_unavailable", late)).message, /changed/);
});

test("follows no link in place of a blob, and replaces it", async () => {
  const folder = freshFolder();
  mkdirSync(join(folder, "data"), { recursive: true });
  const secret = join(folder, "secret.json");
  writeFileSync(secret, "secret");
  symlinkSync(secret, join(folder, "data/a.json"));
  const store = new FolderStore(folder, BASE);
  assert.match((await failure("blob_unavailable", store.open("data/a.json"))).message, /symbolic link/);
  await failure("blob_unavailable", store.stat("data/a.json"));
  await store.put("data/a.json", "new");
  assert.equal(readFileSync(secret, "utf8"), "secret");
  assert.equal(await textOf(store.read("data/a.json")), "new");
});

test("no key names anything outside data and status, or a hidden file", async () => {
  const store = new FolderStore(freshFolder(), BASE);
  for (const key of [
    "data/../x",
    "x",
    "data/",
    "data/.a",
    "data/a/b",
    "/data/a",
    "other/a",
    "data/a\0",
    "",
  ]) {
    await failure("internal", store.put(key, "x"));
    await failure("internal", store.open(key));
  }
});

test("a mapped URL reads an input from the folder and writes an output to it, both named by their URL", async () => {
  const folder = freshFolder();
  const policy = { allowed: [], mapped: [{ base: BASE, folder }] };
  const store = await openStore(BASE, { policy });
  assert.equal(store.url, BASE);
  await store.put("data/feature_engine_1.json", "[1]");
  const blob = await openBlob(`${BASE}/data/feature_engine_1.json?x=1`, policy);
  assert.deepEqual([blob.name, blob.size], [`${BASE}/data/feature_engine_1.json`, 3]);
  assert.equal(await textOf(blob.chunks), "[1]");
  await failure("blob_not_found", openBlob(`${BASE}/data/feature_engine_2.json`, policy));

  const wish = { name: "ml_engine_1.json", blobUrl: `${BASE}/`, featureLocation: "" };
  const output = await openOutput(wish, { policy });
  await output.check();
  const { signal } = new AbortController();
  assert.equal(await output.write(["{", "}"], signal), `${BASE}/data/ml_engine_1.json`);
  assert.equal(readFileSync(join(folder, "data/ml_engine_1.json"), "utf8"), "{}");
  assert.match((await failure("output_failed", output.write("x", signal))).message, /exists already/);
  await failure("output_failed", output.check());
});

test("does not recreate a required folder that was moved away, nor a space in it", async () => {
  const folder = join(freshFolder(), "blobs");
  mkdirSync(folder, { recursive: true });
  const policy = { allowed: [], mapped: [{ base: BASE, folder, root: folder }] };
  const store = await openStore(BASE, { policy });
  const stores = [store, store.within("key-0123456789abcdef")];
  for (const own of stores) await own.put("status/a.1.json", "x");
  renameSync(folder, `${folder}.away`);
  for (const own of stores) {
    const { message } = await failure("output_failed", own.put("status/a.1.json", "y"));
    assert.equal(message, `${BASE}/status/a.1.json could not be written: it does not exist (ENOENT)`);
    await failure("output_failed", own.create("data/ml_engine_1.json", "y"));
    assert.equal(await own.stat("status/a.1.json"), undefined);
  }
  await failure("output_failed", store.checkNew("data/ml_engine_1.json"));
  assert.equal(existsSync(folder), false);
  renameSync(`${folder}.away`, folder);
  for (const own of stores) await own.put("data/b.json", "z");
});

test("reads for callers in small pieces", async () => {
  const store = new FolderStore(freshFolder(), BASE);
  await store.put("data/feature_engine_1.json", "x".repeat(200_000));
  const sizes: number[] = [];
  for await (const piece of store.read("data/feature_engine_1.json", { start: 1 })) {
    sizes.push(piece.length);
    assert.equal(piece.buffer.byteLength, piece.length, "a piece holds no more than itself");
  }
  assert.deepEqual(sizes, [65_536, 65_536, 65_536, 3_391]);
});

test("only their owner may read blobs and the folders made for them, under any umask", async (t) => {
  const umask = process.umask(0);
  t.after(() => process.umask(umask));
  const folder = join(freshFolder(), "blobs");
  const store = new FolderStore(folder, BASE).within("key-0123456789abcdef");
  for (const key of ["data/a.json", "status/a.json"]) {
    for (let version = 0; version < 2; version++) await store.put(key, "x");
  }
  const modes = ["..", ".", "data", "data/a.json", "status", "status/a.json"].map((path) =>
    (statSync(join(folder, "key-0123456789abcdef", path)).mode & 0o777).toString(8),
  );
  assert.deepEqual(modes, ["700", "700", "700", "600", "700", "600"]);
});
