import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { openFiles } from "../../test/open-files.testing.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { type OpenOptions, openBlob } from "./open-blob.ts";
import { bytesOf, failure } from "./store-promises.testing.ts";

const NO_HTTPS = { allowed: [] };
const folder = mkdtempSync(join(tmpdir(), "mucast-blob-"));
after(() => rmSync(folder, { recursive: true }));

let files = 0;
function fileOf(bytes: Uint8Array | string): string {
  const path = join(folder, `odd name ${files++} #?%2f.txt`);
  writeFileSync(path, bytes);
  return path;
}

async function readAll(location: string, options?: OpenOptions) {
  const blob = await openBlob(location, NO_HTTPS, options);
  return { blob, bytes: await bytesOf(blob.chunks) };
}

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

test("reads a local file of any name with its size and digest, as path or as file: URL", async () => {
  for (const content of [
    Buffer.from('{"a":1}'),
    randomBytes(3 * 2 ** 20 + 17),
    Buffer.alloc(0),
    Buffer.from([0x1f]),
  ]) {
    const path = fileOf(content);
    for (const location of [path, pathToFileURL(path).href]) {
      const { blob, bytes } = await readAll(location);
      assert.ok(bytes.equals(content));
      assert.equal(blob.size, content.length);
      assert.equal(blob.digest(), sha256(content));
      assert.equal(blob.name, location);
    }
  }
});

test("gzip content is decompressed, and the digest is that of the stored bytes", async () => {
  const content = Buffer.concat([
    Buffer.from("{"),
    randomBytes(2 ** 20).fill("ab", 0, 2 ** 19),
    Buffer.from("}"),
  ]);
  for (const whole of [content, Buffer.alloc(0), Buffer.from("x")]) {
    const stored = gzipSync(whole);
    const { blob, bytes } = await readAll(fileOf(stored));
    assert.ok(bytes.equals(whole));
    assert.equal(blob.size, stored.length);
    assert.equal(blob.digest(), sha256(stored));
  }
});

test("reads several gzip members as one content, wherever the chunks of the file are cut", async () => {
  for (let beyond = -22; beyond <= 3; beyond++) {
    // Stored without compression, so that the second member begins around the end of a chunk of the file.
    const content = randomBytes(2 ** 20 - 103 + beyond);
    const members = [gzipSync(content, { level: 0 }), gzipSync("second"), gzipSync(""), gzipSync("!")];
    const { bytes } = await readAll(fileOf(Buffer.concat(members)));
    assert.ok(bytes.equals(Buffer.concat([content, Buffer.from("second!")])));
  }
});

test("gzip content that is cut, has a wrong byte, or is followed by other data is unreadable_blob", async () => {
  const stored = gzipSync('{"dates":["2020-01-02"],"prices":{"A":[1.25]}}');
  for (let at = 10; at < stored.length; at++) {
    const bent = Buffer.from(stored);
    bent[at] = bent[at]! ^ 0x55;
    for (const bytes of [bent, stored.subarray(0, at)])
      await failure("unreadable_blob", readAll(fileOf(bytes)));
  }
  for (const tail of ["x", "{}", "\x1f", "\x1f\x8b", "\x1f\x8b\x08"])
    await failure("unreadable_blob", readAll(fileOf(Buffer.concat([stored, Buffer.from(tail, "latin1")]))));
});

test("stops a gzip bomb at the limit on decompressed bytes, as too_large", async () => {
  const bomb = fileOf(gzipSync(Buffer.alloc(2 ** 26)));
  const error = await failure("too_large", readAll(bomb, { limits: { maxBytes: 2 ** 20 } }));
  assert.match(error.message, /1048576 decompressed bytes/);
});

test("refuses a file over the limit on stored bytes as too_large before reading it, and reads one at the limit", async () => {
  const path = fileOf(Buffer.alloc(100));
  await failure("too_large", openBlob(path, NO_HTTPS, { limits: { maxStoredBytes: 99 } }));
  await readAll(path, { limits: { maxStoredBytes: 100, maxBytes: 100 } });
});

test("a pipe or a device is invalid_request, without waiting", async () => {
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  for (const [location, kind] of [
    [pipe, "pipe"],
    ["/dev/null", "device"],
  ] as const) {
    const { message } = await failure("invalid_request", openBlob(location, NO_HTTPS));
    assert.equal(message, `${location} is a ${kind}, not a file; write its bytes to a file and name that`);
  }
});

test("a missing file, a folder, or a path through a file is blob_not_found", async () => {
  mkdirSync(join(folder, "sub"));
  const missing = join(folder, "missing.json");
  assert.match(
    (await failure("blob_not_found", openBlob(missing, NO_HTTPS))).message,
    /missing\.json.*exist/,
  );
  assert.match((await failure("blob_not_found", openBlob(join(folder, "sub"), NO_HTTPS))).message, /folder/);
  await failure("blob_not_found", openBlob(join(fileOf("x"), "y"), NO_HTTPS));
  await failure("blob_not_found", openBlob("a".repeat(5000), NO_HTTPS));
});

test("a file that grows while it is read is blob_unavailable", async () => {
  const path = fileOf(randomBytes(3 * 2 ** 20));
  const blob = await openBlob(path, NO_HTTPS);
  const growing = (async () => {
    for await (const _ of blob.chunks) appendFileSync(path, "x");
  })();
  assert.match((await failure("blob_unavailable", growing)).message, /changed/);
});

test("an aborted signal ends the reading with canceled, or with the error that is its reason", async () => {
  const path = fileOf(randomBytes(3 * 2 ** 20));
  const abort = new AbortController();
  const blob = await openBlob(path, NO_HTTPS, { signal: abort.signal });
  const reading = (async () => {
    for await (const _ of blob.chunks) abort.abort();
  })();
  await failure("canceled", reading);
  await failure("canceled", openBlob(path, NO_HTTPS, { signal: abort.signal }));
  const late = AbortSignal.abort(new MucastError("timed_out", "late"));
  await failure("timed_out", openBlob(path, NO_HTTPS, { signal: late }));
});

test("leaves no file open: read to the end, left early, failed, or closed unread", async () => {
  const path = fileOf(gzipSync(randomBytes(3 * 2 ** 20)));
  const timesOpen = () => openFiles().filter((open) => open === path).length;
  await readAll(path);
  const left = await openBlob(path, NO_HTTPS);
  for await (const _ of left.chunks) break;
  const unread = await openBlob(path, NO_HTTPS);
  assert.ok(timesOpen() > 0, "one that is open is seen");
  await unread.close();
  await unread.close();
  await failure("too_large", readAll(path, { limits: { maxBytes: 10 } }));
  for (let turn = 0; turn < 100 && timesOpen() > 0; turn++) await new Promise(setImmediate);
  assert.equal(timesOpen(), 0);
});

test("refuses a URL in quotes or without its scheme without showing its signature", async () => {
  for (const [location, code] of [
    ['"https://a.example/c/data/feature_engine_1.json?sig=SECRET"', "url_not_allowed"],
    [" https://a.example/c/data/feature_engine_1.json?sig=SECRET", "url_not_allowed"],
    ["BlobEndpoint=https://a.example/;SharedAccessSignature=sv=1&sig=SECRET", "url_not_allowed"],
    ["a.example/c/data/feature_engine_1.json?sv=1&sig=SECRET%2B", "blob_not_found"],
  ] as const) {
    const error = await failure(code, openBlob(location, NO_HTTPS));
    assert.doesNotMatch(JSON.stringify([error.message, error.data]), /SECRET/);
  }
});
