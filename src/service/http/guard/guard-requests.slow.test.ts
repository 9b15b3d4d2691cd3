import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { MucastError } from "../../../contract/errors/errors.ts";
import { ask, eventually, type Listening, listen } from "../listening.testing.ts";
import { ML_PAYLOAD } from "../openapi/examples.ts";

let service: Listening;
before(async () => {
  service = await listen({
    public_url: "https://forecasts.example",
    allowed_hosts: ["Inside.Example:8443"],
    allowed_origins: ["https://desk.example/"],
  });
});
after(() => service.close());

/** The answer to raw bytes. */
async function raw(text: string): Promise<string> {
  const socket = connect(service.port, "127.0.0.1").setEncoding("utf8");
  let answer = "";
  socket.on("data", (piece: string) => {
    answer += piece;
  });
  socket.write(text);
  await once(socket, "close");
  return answer;
}

const CHUNKED = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n";

const HEALTH_ROUTES = ["/healthz", "/readyz"];
const GUARDED_ROUTES = [
  "/",
  "/docs",
  "/examples/feature_engine_sp500.parquet",
  "/openapi.json",
  "/metrics",
  "/v1/operations",
  "/data/feature_engine_a.json",
  "/admin/keys",
  "/nowhere",
];
const ROUTES = [...HEALTH_ROUTES, ...GUARDED_ROUTES];

test("every route but those of probes refuses a Host that is not a name of the service, and names the setting", async () => {
  const { port } = service;
  for (const path of GUARDED_ROUTES) {
    for (const host of [
      "evil.example",
      `evil.example:${port}`,
      `127.0.0.1.evil.example:${port}`,
      `user@localhost:${port}`,
      `localhost.:${port}`,
    ]) {
      const { status, text } = await ask(port, { path, headers: { host } });
      const { code, detail, title, advice } = JSON.parse(text);
      assert.deepEqual([status, code], [403, "forbidden"], `${path} as ${host}`);
      assert.ok(detail.includes(host) && detail.includes("MUCAST_ALLOWED_HOSTS"), detail);
      assert.equal(title, "The Host header does not name this service");
      assert.match(advice, /MUCAST_ALLOWED_HOSTS/);
    }
    for (const host of [
      `localhost:${port}`,
      `localhost:${port + 1}`,
      "localhost",
      `LOCALHOST:${port}`,
      `127.0.0.1:${port}`,
      `127.8.9.10:${port}`,
      `[::1]:${port}`,
      "forecasts.example",
      "forecasts.example:443",
      "inside.example:8443",
    ]) {
      const { text } = await ask(port, { path, headers: { host } });
      assert.ok(!text.includes("is not a name of this service"), `${path} as ${host}`);
    }
  }
});

test("probes may send any Host, and learn only whether the service is well; a long Host is cut in the refusal", async () => {
  const { port } = service;
  for (const path of HEALTH_ROUTES) {
    for (const method of ["GET", "HEAD"]) {
      const { status, text } = await ask(port, { method, path, headers: { host: "10.0.0.7:31337" } });
      assert.equal(status, 200, path);
      if (method === "GET")
        assert.match(text, /^\{"(status":"ok"|checks":\[\{"name":"database","ok":true\}\])\}$/);
    }
  }
  const { text } = await ask(port, {
    path: "/v1/operations",
    headers: { host: `${"x".repeat(8_000)}.example` },
  });
  assert.ok(text.length < 600, text);
});

test("a request with two Hosts, none, or a whole URL is refused", async () => {
  const { port } = service;
  const rest = `Host: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`;
  assert.match(await raw(`GET /healthz HTTP/1.1\r\nHost: evil.example\r\n${rest}`), /^HTTP\/1.1 400 /);
  assert.match(
    await raw(`GET /healthz HTTP/1.1\r\n${rest.replace("\r\n", "\r\nHost: evil.example\r\n")}`),
    /^HTTP\/1.1 400 /,
  );
  for (const version of ["1.0", "1.1"]) {
    const answer = await raw(`GET /healthz HTTP/${version}\r\nConnection: close\r\n\r\n`);
    assert.match(answer, /^HTTP\/1.1 400 .*application\/problem\+json/s);
  }
  assert.match(await raw(`GET http://evil.example/healthz HTTP/1.1\r\n${rest}`), /^HTTP\/1.1 400 /);
  assert.match(await raw(`GET /healthz HTTP/1.1\r\n${rest}`), /^HTTP\/1.1 200 /);
});

test("a request from a page of a foreign origin is refused, whatever its path and method", async () => {
  for (const origin of [
    "https://evil.example",
    "null",
    `http://127.0.0.1:${service.port + 1}`,
    `http://127.0.0.1:${service.port}.evil.example`,
  ]) {
    for (const [method, path] of [
      ["GET", "/v1/operations"],
      ["POST", "/v1/run_ml_job"],
      ["PUT", "/data/feature_engine_a.json"],
      ["OPTIONS", "/v1/run_ml_job"],
      ["GET", "/nowhere"],
      ["POST", "/mcp"],
    ] as const) {
      const { status, headers } = await ask(service.port, { method, path, headers: { origin } });
      assert.equal(status, 403, `${method} ${path} from ${origin}`);
      assert.equal(headers["access-control-allow-origin"], undefined);
    }
  }
  for (const site of ["cross-site", "same-site"]) {
    const { status } = await ask(service.port, {
      path: "/v1/operations",
      headers: { "sec-fetch-site": site },
    });
    assert.equal(status, 403, site);
  }
});

test("the service's own pages and programs are allowed, and another site may link to the docs", async () => {
  const own = service.origin;
  for (const headers of [
    {},
    { origin: own },
    { origin: "https://forecasts.example" },
    { "sec-fetch-site": "same-origin" },
    { "sec-fetch-site": "none" },
  ]) {
    assert.equal(
      (await ask(service.port, { path: "/v1/operations", headers })).status,
      200,
      JSON.stringify(headers),
    );
  }
  const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  assert.equal((await ask(service.port, { path: "/docs", headers: link })).status, 200);
  assert.equal((await ask(service.port, { path: "/v1/operations", headers: link })).status, 403);
});

test("a page of an allowed origin gets the CORS headers for the preflight and the answer", async () => {
  const origin = "https://desk.example";
  const preflight = await ask(service.port, {
    method: "OPTIONS",
    path: "/v1/run_ml_job",
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "idempotency-key",
    },
  });
  assert.equal(preflight.status, 204);
  assert.equal(preflight.headers["access-control-allow-origin"], origin);
  assert.match(String(preflight.headers["access-control-allow-methods"]), /POST/);
  assert.match(String(preflight.headers["access-control-allow-headers"]), /Idempotency-Key/);
  const answer = await ask(
    service.port,
    {
      method: "POST",
      path: "/v1/run_ml_job",
      headers: { origin, "content-type": "application/json", "sec-fetch-site": "cross-site" },
    },
    JSON.stringify(ML_PAYLOAD),
  );
  assert.equal(answer.status, 202);
  assert.equal(answer.headers["access-control-allow-origin"], origin);
  assert.equal(answer.headers.vary, "Origin");
  assert.match(String(answer.headers["access-control-expose-headers"]), /Operation-Location/);
});

test("an unknown path is not_found, and an unknown method gets the allowed ones", async () => {
  for (const [method, path, status, allow] of [
    ["GET", "/nowhere", 404, undefined],
    ["GET", "/v1/operations/x/", 404, undefined],
    ["GET", "/v2/operations", 404, undefined],
    ["DELETE", "/v1/operations", 405, "GET, HEAD"],
    ["GET", "/v1/run_ml_job", 405, "POST"],
    ["POST", "/data/feature_engine_a.json", 405, "DELETE, GET, HEAD, PUT"],
    ["DELETE", "/v1/operations/x", 405, "GET, HEAD"],
    ["PATCH", "/v1/operations/x/cancel", 405, "POST"],
    ["PROPFIND", "/v1/operations", 405, "GET, HEAD"],
    ["OPTIONS", "/healthz", 405, "GET, HEAD"],
  ] as const) {
    const answer = await ask(service.port, { method, path });
    assert.deepEqual([answer.status, answer.headers.allow], [status, allow], `${method} ${path}`);
    assert.match(answer.headers["content-type"]!, /^application\/problem\+json/);
  }
});

test("bytes that are not a request, and headers that are too long, get a status alone", async () => {
  const host = `Host: 127.0.0.1:${service.port}\r\n`;
  for (const [text, status] of [
    ["nonsense\r\n\r\n", 400],
    [`GET / HTTP/1.1\r\n${host}bad header\r\n\r\n`, 400],
    [`GET / HTTP/1.1\r\n${host}X: ${"x".repeat(20_000)}\r\n\r\n`, 431],
    [`POST /v1/run_ml_job HTTP/1.1\r\n${host}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n`, 400],
    [`POST /v1/run_ml_job HTTP/1.1\r\n${host}${CHUNKED}\r\nnonsense\r\n`, 400],
  ] as const) {
    assert.match(await raw(text), new RegExp(`^HTTP/1.1 ${status} [^]*: 0\r\n\r\n$`), text.slice(0, 60));
  }
});

test("a broken escape in a URL gets a problem", async () => {
  const { status, headers } = await ask(service.port, { path: "/v1/operations/%zz" });
  assert.deepEqual([status, headers["content-type"]], [400, "application/problem+json; charset=utf-8"]);
});

test("a client of HTTP/1.0 gets no 100 Continue, and CONNECT no answer", async () => {
  const head = `Host: 127.0.0.1:${service.port}\r\nExpect: 100-continue\r\nConnection: close\r\n`;
  for (const [line, more, status] of [
    ["POST /v1/operations/one/cancel", "Content-Length: 2\r\n\r\n{}", 404],
    ["PUT /data/feature_engine_old.json", "Content-Length: 2\r\n\r\n{}", 201],
  ] as const)
    assert.match(await raw(`${line} HTTP/1.0\r\n${head}${more}`), new RegExp(`^HTTP/1.1 ${status} `));
  const answer = await raw(`CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\nbytes`);
  assert.equal(answer, "");
});

test("bytes that are not a request close a connection whose answer has started, and add nothing to the answer", async (t) => {
  const host = `Host: 127.0.0.1:${service.port}\r\n`;
  const url = "/data/feature_engine_large.json";
  // More than sockets buffer, so that the answer has not ended when the rest comes.
  const body = Buffer.alloc(2 ** 24, "a");
  await fetch(`${service.origin}${url}`, { method: "PUT", body });
  for (const rest of ["nonsense\r\n\r\n", `GET / HTTP/1.1\r\n${host}X: ${"x".repeat(20_000)}\r\n\r\n`]) {
    const socket = connect(service.port, "127.0.0.1").on("error", () => undefined);
    t.after(() => socket.destroy());
    socket.write(`GET ${url} HTTP/1.1\r\n${host}\r\n`);
    await once(socket, "readable");
    const met = once(service.app.server, "clientError");
    socket.write(rest);
    await met;
    const pieces: Buffer[] = [];
    socket.on("data", (piece: Buffer) => void pieces.push(piece));
    await once(socket, "close");
    const answer = Buffer.concat(pieces);
    assert.match(answer.toString("latin1", 0, 50), /^HTTP\/1\.1 200 /);
    assert.ok(answer.length < body.length);
    assert.equal(answer.indexOf("HTTP/1.1 4"), -1);
  }
});

test("every answer has the headers against sniffing and framing", async () => {
  for (const path of ROUTES) {
    const { headers } = await ask(service.port, { path });
    assert.equal(headers["x-content-type-options"], "nosniff", path);
    assert.match(String(headers["content-security-policy"]), /frame-ancestors 'none'/, path);
    assert.equal(headers["referrer-policy"], "no-referrer", path);
  }
});

test("the problem of a defect has only an id, and the log has the error under that id", async () => {
  service.operations.failure = new Error("password hunter2 at https://a.example/?sig=abc");
  const answer = await ask(service.port, { path: "/v1/operations" });
  const problem = JSON.parse(answer.text);
  assert.deepEqual([answer.status, problem.code], [500, "internal"]);
  assert.ok(!answer.text.includes("hunter2"));
  const line = service.logged.find((text) => text.includes(problem.id))!;
  assert.ok(line.includes("hunter2") && !line.includes("sig=abc"), line);
});

test("a temporary refusal has Retry-After", async () => {
  service.operations.failure = new MucastError("unavailable", "the database is away");
  const away = await ask(service.port, { path: "/v1/operations" });
  assert.deepEqual([away.status, away.headers["retry-after"]], [503, "5"]);
  service.operations.failure = new MucastError("rate_limited", "full", { retryAfter: 30 });
  const full = await ask(service.port, { path: "/v1/operations" });
  assert.deepEqual([full.status, full.headers["retry-after"]], [429, "30"]);
  service.operations.failure = new MucastError("idempotency_conflict", "in flight", { sameBody: true });
  const flight = await ask(service.port, { path: "/v1/operations" });
  assert.deepEqual([flight.status, flight.headers["retry-after"]], [409, "1"]);
});

test("logs and telemetry contain route, status and code, but no query or headers", async () => {
  const secret = "do-not-log-this";
  const headers = { authorization: `Bearer ${secret}`, cookie: secret, "idempotency-key": secret };
  await ask(service.port, { path: `/v1/operations/abc?sig=${secret}`, headers });
  await eventually(() => service.logged.some((line) => line.includes("/v1/operations/abc")));
  await ask(service.port, { path: `/v1/operations%3fsig=${secret}` });
  await eventually(() => service.logged.some((line) => line.includes('"path":"/v1/operations"')));
  assert.ok(!service.logged.some((line) => line.includes(secret)));
  assert.deepEqual(service.done.at(-2), { route: "/v1/operations/:id", status: 404, code: "not_found" });
});
