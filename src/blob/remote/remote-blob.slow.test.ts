import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { openBlob } from "../open-blob.ts";
import {
  CONTENT,
  cert,
  failure,
  QUICK,
  rangeOf,
  readAll,
  sendRange,
  serve,
  servers,
} from "./remote-blob.testing.ts";

test("reads a blob range by range, each requested for the version of the first", async () => {
  const served = await serve((request, response) => sendRange(request, response, CONTENT));
  let connections = 0;
  servers.at(-1)!.on("connection", () => connections++);
  const { blob, bytes } = await readAll(served);
  assert.equal(connections, 1);
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

test("gives up on a port that accepts but never speaks TLS", async () => {
  const mute = createTcpServer();
  await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
  const sockets: { destroy(): void }[] = [];
  mute.on("connection", (socket) => sockets.push(socket.on("error", () => undefined)));
  const container = `https://127.0.0.1:${(mute.address() as AddressInfo).port}/c`;
  const served = {
    location: `${container}/data/feature_engine_1.json`,
    policy: { allowed: [container], privateOrigins: [new URL(container).origin] },
    requests: [],
  };
  const error = await failure("blob_unavailable", readAll(served, { limits: { connectMs: 100 } }));
  assert.match(error.message, /no connection within 100 ms \(tried 3 times\)/);
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => mute.close(resolve));
  assert.match((await failure("blob_unavailable", readAll(served))).message, /ECONNREFUSED/);
});

test("fails at once on an untrusted certificate, before any request", async () => {
  const served = await serve((request, response) => sendRange(request, response, CONTENT));
  let connections = 0;
  servers.at(-1)!.on("connection", () => connections++);
  const attempt = openBlob(served.location, served.policy, { limits: QUICK });
  assert.match((await failure("blob_unavailable", attempt)).message, /certificate is not trusted/);
  assert.deepEqual([connections, served.requests.length], [1, 0]);
});

test("refuses a host with an address that is not public before any connection, unless its origin is listed", async () => {
  const served = await serve((request, response) => sendRange(request, response, CONTENT));
  let connections = 0;
  servers.at(-1)!.on("connection", () => connections++);
  const byName = {
    ...served,
    location: served.location.replace("127.0.0.1", "localhost"),
    policy: { allowed: served.policy.allowed.map((url) => url.replace("127.0.0.1", "localhost")) },
  };
  const byAddress = { ...served, policy: { allowed: served.policy.allowed } };
  for (const refused of [byName, byAddress]) {
    const error = await failure("url_not_allowed", readAll(refused));
    assert.match(error.message, /not public.*MUCAST_PRIVATE_ORIGINS/);
  }
  assert.equal(connections, 0);
  const privateOrigins = [new URL(byName.location).origin];
  const listed = { ...byName, policy: { ...byName.policy, privateOrigins } };
  assert.ok((await readAll(listed)).bytes.equals(CONTENT));
});

test("limits the time for a whole blob, however active its server is", async () => {
  const served = await serve((_, response) => {
    const drip = setInterval(() => response.write("x"), 5);
    response.on("close", () => clearInterval(drip));
  });
  assert.match(
    (await failure("blob_unavailable", readAll(served, { limits: { totalMs: 60 } }))).message,
    /60 ms/,
  );
});

test("an abort ends the wait for an answer, for the next attempt and for data, as canceled", async () => {
  const abort = new AbortController();
  const silent = await serve(() => abort.abort());
  await failure("canceled", readAll(silent, { signal: abort.signal }));
  const again = new AbortController();
  const failing = await serve((_, response) =>
    response.writeHead(503).end(() => setImmediate(() => again.abort())),
  );
  await failure("canceled", readAll(failing, { signal: again.signal, limits: { backoffMs: 3_600_000 } }));
  const late = new AbortController();
  const stalling = await serve((_, response) => {
    response.writeHead(206, { etag: '"v1"', "content-range": "bytes 0-29999/100000" });
    response.write(CONTENT.subarray(0, 500));
  });
  const blob = await openBlob(stalling.location, stalling.policy, {
    ca: cert,
    limits: QUICK,
    signal: late.signal,
  });
  const reading = (async () => {
    for await (const _ of blob.chunks) late.abort();
  })();
  await failure("canceled", reading);
});

test("decompresses gzip content, even if the server compressed it again for the transfer", async () => {
  const stored = gzipSync(CONTENT);
  const plain = await serve((request, response) => sendRange(request, response, stored));
  assert.ok((await readAll(plain)).bytes.equals(CONTENT));
  for (const body of [stored, gzipSync(stored), CONTENT]) {
    const encoded = await serve((_, response) =>
      response.writeHead(200, { "content-encoding": "gzip" }).end(body),
    );
    assert.ok((await readAll(encoded)).bytes.equals(CONTENT));
  }
  const brotli = await serve((_, response) => response.writeHead(200, { "content-encoding": "br" }).end("x"));
  assert.match((await failure("unreadable_blob", readAll(brotli))).message, /"br"/);
});
