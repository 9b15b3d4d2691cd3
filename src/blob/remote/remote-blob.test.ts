import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { after, test } from "node:test";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { type OpenOptions, openBlob } from "../open-blob.ts";
import type { BlobPolicy } from "../policy.ts";
import type { TransferLimits } from "../transfer-limits.ts";

const certificates = new URL("../../../test/certificates/", import.meta.url);
const cert = readFileSync(new URL("localhost.cert.pem", certificates), "utf8");
const key = readFileSync(new URL("localhost.key.pem", certificates), "utf8");

const servers: Server[] = [];
after(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

interface Served {
  readonly location: string;
  readonly policy: BlobPolicy;
  readonly requests: IncomingMessage[];
}

/** A real https server on the loopback address that answers with `listener`. */
async function serve(listener: RequestListener): Promise<Served> {
  const requests: IncomingMessage[] = [];
  const server = createServer({ cert, key }, (request, response) => {
    requests.push(request);
    listener(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const container = `https://127.0.0.1:${(server.address() as AddressInfo).port}/container`;
  return {
    location: `${container}/data/feature_engine_1.json?sv=1&sig=SECRET`,
    policy: { allowed: [container], privateOrigins: [new URL(container).origin] },
    requests,
  };
}

const CONTENT = randomBytes(100_000);
const QUICK: Partial<TransferLimits> = { rangeBytes: 30_000, backoffMs: 1, attempts: 3 };

async function readAll({ location, policy }: Served, options: OpenOptions = {}) {
  const blob = await openBlob(location, policy, {
    ca: cert,
    ...options,
    limits: { ...QUICK, ...options.limits },
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of blob.chunks) chunks.push(chunk);
  return { blob, bytes: Buffer.concat(chunks) };
}

/** Every failure is also looked through for the secret of the query. */
async function failure(code: ErrorCode, attempt: Promise<unknown>): Promise<MucastError> {
  const error = await attempt.then(() => assert.fail("nothing was thrown")).catch((error: unknown) => error);
  assert.ok(error instanceof MucastError, String(error));
  assert.equal(error.code, code, error.message);
  assert.doesNotMatch(inspect(error, { depth: 20, showHidden: true }), /SECRET/);
  return error;
}

/** Start and end (inclusive) of the range asked for. */
function rangeOf(request: IncomingMessage): [number, number] | undefined {
  const match = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "");
  return match ? [Number(match[1]), Number(match[2])] : undefined;
}

/** Answers as a storage service with ranges and versions does. */
function sendRange(request: IncomingMessage, response: ServerResponse, content: Buffer, etag = '"v1"') {
  const condition = request.headers["if-match"];
  const range = rangeOf(request);
  if (condition !== undefined && condition !== etag) return response.writeHead(412).end();
  if (range === undefined)
    return response.writeHead(200, { etag, "content-length": content.length }).end(content);
  if (range[0] >= content.length) {
    return response.writeHead(416, { "content-range": `bytes */${content.length}` }).end();
  }
  const body = content.subarray(range[0], range[1] + 1);
  const contentRange = `bytes ${range[0]}-${range[0] + body.length - 1}/${content.length}`;
  return response
    .writeHead(206, { etag, "content-range": contentRange, "content-length": body.length })
    .end(body);
}

test("a blob is read range by range, each asked for under the version of the first", async () => {
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

test("a server without ranges, or without a version to hold on to, is read in one stream", async () => {
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

test("a thousand ranges go over one connection, and leave no listener behind", async () => {
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

test("an empty blob, which has no range, is empty", async () => {
  const { blob, bytes } = await readAll(
    await serve((request, response) => sendRange(request, response, Buffer.alloc(0))),
  );
  assert.equal(bytes.length, 0);
  assert.equal(blob.size, 0);
});

test("a server that sends shorter ranges than asked for is read on from where each ended", async () => {
  const served = await serve((request, response) => {
    const [start] = rangeOf(request)!;
    request.headers.range = `bytes=${start}-${start + 9_999}`;
    sendRange(request, response, CONTENT);
  });
  assert.ok((await readAll(served)).bytes.equals(CONTENT));
});

test("a range that breaks off is resumed at the byte where it broke", async () => {
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

test("a failure that may pass is tried again, as often as the limit says", async () => {
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

test("a missing blob is blob_not_found, one without rights blob_unavailable in words about rights, at once", async () => {
  const missing = await serve((_, response) =>
    response.writeHead(404, { "x-ms-error-code": "BlobNotFound" }).end(),
  );
  assert.match((await failure("blob_not_found", readAll(missing))).message, /404 BlobNotFound/);
  for (const status of [401, 403]) {
    const closed = await serve((_, response) =>
      response.writeHead(status, { "x-ms-error-code": "x SECRET" }).end(),
    );
    assert.match((await failure("blob_unavailable", readAll(closed))).message, /rights.*SAS/);
    assert.equal(closed.requests.length, 1);
  }
  const odd = await serve((_, response) => response.writeHead(418).end());
  assert.match((await failure("blob_unavailable", readAll(odd))).message, /418/);
});

test("a redirect is refused and not followed, wherever it points", async () => {
  for (const status of [301, 302, 303, 307, 308]) {
    const served = await serve((request, response) => {
      response.writeHead(status, { location: `https://${request.headers.host}/elsewhere?sig=SECRET` }).end();
    });
    assert.match((await failure("url_not_allowed", readAll(served))).message, /redirect/);
    assert.equal(served.requests.length, 1);
  }
});

test("a blob replaced while it is read is noticed, also by a server that ignores If-Match", async () => {
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

test("a server that sends another range than asked for is not believed", async () => {
  const served = await serve((request, response) => {
    const [start, end] = rangeOf(request)!;
    request.headers.range = start === 0 ? `bytes=0-${end}` : `bytes=${start + 1}-${end}`;
    sendRange(request, response, CONTENT);
  });
  assert.match((await failure("blob_unavailable", readAll(served))).message, /another range/);
});

test("a blob over the limit is too_large before its body where the server sends its length, else while it is read", async () => {
  const limits = { maxStoredBytes: 50_000 };
  const told = await serve((request, response) => sendRange(request, response, CONTENT));
  await failure("too_large", openBlob(told.location, told.policy, { ca: cert, limits }));
  const untold = await serve((_, response) => {
    response.write(CONTENT.subarray(0, 40_000));
    response.end(CONTENT.subarray(40_000));
  });
  await failure("too_large", readAll(untold, { limits }));
});

test("a server that falls silent, before or within its answer, is tried again and then unavailable", async () => {
  const limits = { idleMs: 150 };
  const silent = await serve(() => undefined);
  assert.match(
    (await failure("blob_unavailable", readAll(silent, { limits }))).message,
    /no answer within 150 ms/,
  );
  assert.equal(silent.requests.length, 3);
  let stalls = 0;
  const stalling = await serve((request, response) => {
    if (stalls++ > 0) return sendRange(request, response, CONTENT);
    response.writeHead(206, { etag: '"v1"', "content-range": "bytes 0-29999/100000" });
    return response.write(CONTENT.subarray(0, 500));
  });
  const patient = { idleMs: 300, attempts: 20 };
  assert.ok((await readAll(stalling, { limits: patient })).bytes.equals(CONTENT));
  assert.deepEqual(rangeOf(stalling.requests[1]!), [500, 30_499]);
});

test("a port that accepts but never speaks TLS ends with no connection", async () => {
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

test("a certificate that is not trusted ends it at once, before any request", async () => {
  const served = await serve((request, response) => sendRange(request, response, CONTENT));
  let connections = 0;
  servers.at(-1)!.on("connection", () => connections++);
  const attempt = openBlob(served.location, served.policy, { limits: QUICK });
  assert.match((await failure("blob_unavailable", attempt)).message, /certificate is not trusted/);
  assert.deepEqual([connections, served.requests.length], [1, 0]);
});

test("a host with an address that is not public is refused before any connection, until its origin is listed", async () => {
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

test("where the server tells an MD5 of the whole, the bytes are held against it", async () => {
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

test("the time for a whole blob is limited, however lively its server is", async () => {
  const served = await serve((_, response) => {
    const drip = setInterval(() => response.write("x"), 5);
    response.on("close", () => clearInterval(drip));
  });
  assert.match(
    (await failure("blob_unavailable", readAll(served, { limits: { totalMs: 60 } }))).message,
    /60 ms/,
  );
});

test("an abort ends the wait for an answer, for the next try and for data, as canceled", async () => {
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

test("gzip content is decompressed, also where the server compressed it once more for the way", async () => {
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

test("a blob outside the policy is refused without any request", async () => {
  const served = await serve((_, response) => response.end("{}"));
  await failure(
    "url_not_allowed",
    openBlob(served.location, { allowed: ["https://a.example/c"] }, { ca: cert }),
  );
  assert.equal(served.requests.length, 0);
});
