import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { openBlob } from "../open-blob.ts";

import {
  CONTENT,
  cert,
  failure,
  rangeOf,
  readAll,
  sendRange,
  serve,
  servers,
} from "./remote-blob.testing.ts";

test("reads a blob range by range, each requested for the version of the first", async () => {
  const served = await serve((request, response) => sendRange(request, response, CONTENT));
  const { blob, bytes } = await readAll(served);
  assert.ok(bytes.equals(CONTENT));
  assert.equal(blob.size, CONTENT.length);
  assert.equal(blob.digest(), createHash("sha256").update(CONTENT).digest("hex"));
  assert.equal(blob.name, served.location.split("?")[0]);
  assert.deepEqual(
    served.requests.map(({ headers }) => [headers.range, headers["if-match"]]),
    [
      ["bytes=0-29999", undefined],
      ["bytes=30000-59999", '"v1"'],
      ["bytes=60000-89999", '"v1"'],
      ["bytes=90000-99999", '"v1"'],
    ],
  );
  assert.ok(served.requests.every(({ url }) => url?.endsWith("?sv=1&sig=SECRET")));
});

test("reads from a server without ranges or versions in one stream", async () => {
  const whole = await serve((_, response) => response.end(CONTENT));
  const result = await readAll(whole);
  assert.ok(result.bytes.equals(CONTENT));
  assert.equal(whole.requests.length, 1);
  for (const etag of ['W/"v1"', "v1"]) {
    const weak = await serve((request, response) => sendRange(request, response, CONTENT, etag));
    assert.ok((await readAll(weak)).bytes.equals(CONTENT));
    assert.deepEqual(weak.requests.map(rangeOf), [[0, 29_999], undefined]);
  }
});

test("reads a thousand ranges over one connection, and leaves no listener behind", async () => {
  const warnings: Error[] = [];
  const heed = (warning: Error) => void warnings.push(warning);
  process.on("warning", heed);
  const served = await serve((request, response) => sendRange(request, response, CONTENT));
  let connections = 0;
  servers.at(-1)!.on("connection", () => connections++);
  const { signal } = new AbortController();
  assert.ok((await readAll(served, { signal, limits: { rangeBytes: 100 } })).bytes.equals(CONTENT));
  await new Promise(setImmediate);
  process.off("warning", heed);
  assert.deepEqual([served.requests.length, connections, warnings], [1000, 1, []]);
});

test("reads an empty blob, which has no range", async () => {
  const { blob, bytes } = await readAll(
    await serve((request, response) => sendRange(request, response, Buffer.alloc(0))),
  );
  assert.equal(bytes.length, 0);
  assert.equal(blob.size, 0);
});

test("continues after each range if a server sends shorter ranges than requested", async () => {
  const served = await serve((request, response) => {
    const [start] = rangeOf(request)!;
    request.headers.range = `bytes=${start}-${start + 9_999}`;
    sendRange(request, response, CONTENT);
  });
  assert.ok((await readAll(served)).bytes.equals(CONTENT));
});

test("resumes a range that breaks off at the byte where it broke", async () => {
  let broken = 0;
  const served = await serve((request, response) => {
    const [start, end] = rangeOf(request)!;
    if (broken++ % 2 === 1) return sendRange(request, response, CONTENT);
    response.writeHead(206, { etag: '"v1"', "content-range": `bytes ${start}-${end}/100000` });
    return response.write(CONTENT.subarray(start, start + 1000), () => response.destroy());
  });
  assert.ok((await readAll(served)).bytes.equals(CONTENT));
  assert.ok(
    served.requests.some(
      (request) => rangeOf(request)![0] % 1000 === 0 && rangeOf(request)![0] % 30_000 !== 0,
    ),
  );
});

test("a stream that cannot be resumed and breaks off is blob_unavailable", async () => {
  const served = await serve((_, response) => {
    response.writeHead(200, { "content-length": CONTENT.length });
    response.write(CONTENT.subarray(0, 1000), () => response.destroy());
  });
  assert.match((await failure("blob_unavailable", readAll(served))).message, /cannot resume/);
  assert.equal(served.requests.length, 1);
});

test("retries a failure that may pass, as often as the limit says", async () => {
  for (const status of [408, 429, 500, 502, 503, 504]) {
    let refused = 0;
    const recovering = await serve((request, response) =>
      refused++ < 2 ? response.writeHead(status).end() : sendRange(request, response, CONTENT),
    );
    assert.ok((await readAll(recovering)).bytes.equals(CONTENT));
    const failing = await serve((_, response) => response.writeHead(status).end());
    assert.match(
      (await failure("blob_unavailable", readAll(failing))).message,
      new RegExp(`${status}.*tried 3 times`),
    );
    assert.equal(failing.requests.length, 3);
  }
});

test("a missing blob is blob_not_found, one without rights blob_unavailable with a message about credentials, at once", async () => {
  const missing = await serve((_, response) =>
    response.writeHead(404, { "x-ms-error-code": "BlobNotFound" }).end(),
  );
  assert.match((await failure("blob_not_found", readAll(missing))).message, /404 BlobNotFound/);
  for (const status of [401, 403]) {
    const closed = await serve((_, response) =>
      response.writeHead(status, { "x-ms-error-code": "x SECRET" }).end(),
    );
    assert.match((await failure("blob_unavailable", readAll(closed))).message, /credentials.*SAS/);
    assert.equal(closed.requests.length, 1);
  }
  const odd = await serve((_, response) => response.writeHead(418).end());
  assert.match((await failure("blob_unavailable", readAll(odd))).message, /418/);
});

test("refuses a redirect and does not follow it, wherever it points", async () => {
  for (const status of [301, 302, 303, 307, 308]) {
    const served = await serve((request, response) => {
      response.writeHead(status, { location: `https://${request.headers.host}/elsewhere?sig=SECRET` }).end();
    });
    assert.match((await failure("url_not_allowed", readAll(served))).message, /redirect/);
    assert.equal(served.requests.length, 1);
  }
});

test("detects a blob that is replaced while it is read, even if the server ignores If-Match", async () => {
  const obeying = await serve((request, response) =>
    sendRange(request, response, CONTENT, `"v${obeying.requests.length > 2 ? 2 : 1}"`),
  );
  assert.match((await failure("blob_unavailable", readAll(obeying))).message, /changed while it was read/);
  const ignoring = await serve((request, response) => {
    delete request.headers["if-match"];
    sendRange(request, response, CONTENT, `"v${ignoring.requests.length > 2 ? 2 : 1}"`);
  });
  assert.match((await failure("blob_unavailable", readAll(ignoring))).message, /changed while it was read/);
  const shrinking = await serve((request, response) =>
    sendRange(request, response, shrinking.requests.length > 2 ? CONTENT.subarray(1) : CONTENT),
  );
  assert.match((await failure("blob_unavailable", readAll(shrinking))).message, /changed while it was read/);
});

test("rejects a different range than requested", async () => {
  const served = await serve((request, response) => {
    const [start, end] = rangeOf(request)!;
    request.headers.range = start === 0 ? `bytes=0-${end}` : `bytes=${start + 1}-${end}`;
    sendRange(request, response, CONTENT);
  });
  assert.match(
    (await failure("blob_unavailable", readAll(served))).message,
    /different range than requested/,
  );
});

test("a blob over the limit is too_large before its body if the server sends its length, else while it is read", async () => {
  const limits = { maxStoredBytes: 50_000 };
  const told = await serve((request, response) => sendRange(request, response, CONTENT));
  await failure("too_large", openBlob(told.location, told.policy, { ca: cert, limits }));
  const untold = await serve((_, response) => {
    response.write(CONTENT.subarray(0, 40_000));
    response.end(CONTENT.subarray(40_000));
  });
  await failure("too_large", readAll(untold, { limits }));
});
