/** Reading a remote blob with slow, untrusted, damaged and aborted answers. */
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

test("retries a server that falls silent before or within its answer, and then fails as unavailable", async () => {
  const limits = { idleMs: 600 };
  const silent = await serve(() => undefined);
  assert.match(
    (await failure("blob_unavailable", readAll(silent, { limits }))).message,
    /no answer within 600 ms/,
  );
  assert.equal(silent.requests.length, 3);
  let stalls = 0;
  const stalling = await serve((request, response) => {
    if (stalls++ > 0) return sendRange(request, response, CONTENT);
    response.writeHead(206, { etag: '"v1"', "content-range": "bytes 0-29999/100000" });
    return response.write(CONTENT.subarray(0, 500));
  });
  const patient = { idleMs: 1_000, attempts: 20 };
  assert.ok((await readAll(stalling, { limits: patient })).bytes.equals(CONTENT));
  assert.deepEqual(rangeOf(stalling.requests[1]!), [500, 30_499]);
});

test("a server that answers 101 is retried and then unavailable", async () => {
  const switching = await serve((_request, { socket }) => {
    socket!.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
  });
  assert.match((await failure("blob_unavailable", readAll(switching))).message, /connection was closed/);
  assert.equal(switching.requests.length, 3);
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

test("checks the bytes against the MD5 of the whole if the server sends one", async () => {
  const md5 = (content: Buffer) => createHash("md5").update(content).digest("base64");
  for (const [told, right] of [
    [md5(CONTENT), true],
    [md5(Buffer.from("other")), false],
  ] as const) {
    const whole = await serve((_, response) => response.writeHead(200, { "content-md5": told }).end(CONTENT));
    const ranges = await serve((request, response) => {
      response.setHeader("x-ms-blob-content-md5", told);
      response.setHeader("content-md5", "of-the-range");
      sendRange(request, response, CONTENT);
    });
    for (const served of [whole, ranges]) {
      if (right) assert.ok((await readAll(served)).bytes.equals(CONTENT));
      else assert.match((await failure("blob_unavailable", readAll(served))).message, /MD5/);
    }
  }
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

test("refuses a blob outside the policy without any request", async () => {
  const served = await serve((_, response) => response.end("{}"));
  await failure(
    "url_not_allowed",
    openBlob(served.location, { allowed: ["https://a.example/c"] }, { ca: cert }),
  );
  assert.equal(served.requests.length, 0);
});
