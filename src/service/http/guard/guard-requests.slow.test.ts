import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { MucastError } from "../../../contract/errors/errors.ts";
import { ask, eventually, type Listening, listen, listenFor } from "../listening.testing.ts";
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

const HEALTH_ROUTES = ["/healthz", "/readyz"];
const GUARDED_ROUTES = [
  ...["/", "/docs", "/examples/feature_engine_sp500.parquet", "/openapi.json", "/metrics"],
  ...["/v1/operations", "/data/feature_engine_a.json", "/admin/keys", "/nowhere"],
];

test("every route but those of probes refuses a Host that is not a name of the service, and names the setting", async () => {
  const { port } = service;
  for (const path of GUARDED_ROUTES) {
    for (const host of [`evil.example:${port}`, `user@localhost:${port}`, `localhost.:${port}`]) {
      const { status, text } = await ask(port, { path, headers: { host } });
      const { code, detail, title, advice } = JSON.parse(text);
      assert.deepEqual([status, code], [403, "forbidden"], `${path} as ${host}`);
      assert.ok(detail.includes(host) && detail.includes("MUCAST_ALLOWED_HOSTS"), detail);
      assert.equal(title, "The Host header does not name this service");
      assert.match(advice, /MUCAST_ALLOWED_HOSTS/);
    }
    for (const host of [`localhost:${port + 1}`, "forecasts.example:443", "inside.example:8443"]) {
      const { text } = await ask(port, { path, headers: { host } });
      assert.ok(!text.includes("is not a name of this service"), `${path} as ${host}`);
    }
  }
  for (const path of HEALTH_ROUTES) {
    const { status } = await ask(port, { path, headers: { host: "10.0.0.7:31337" } });
    assert.equal(status, 200, path);
  }
});

test("a request from a page of a foreign origin is refused, whatever its path and method", async () => {
  for (const origin of ["https://evil.example", "null", `http://127.0.0.1:${service.port}.evil.example`]) {
    for (const [method, path] of [
      ["GET", "/v1/operations"],
      ["POST", "/v1/run_ml_job"],
      ["PUT", "/data/feature_engine_a.json"],
      ["GET", "/nowhere"],
      ["POST", "/mcp"],
    ] as const) {
      const { status, headers } = await ask(service.port, { method, path, headers: { origin } });
      assert.equal(status, 403, `${method} ${path} from ${origin}`);
      assert.equal(headers["access-control-allow-origin"], undefined);
    }
  }
  const headers = { "sec-fetch-site": "same-site" };
  assert.equal((await ask(service.port, { path: "/v1/operations", headers })).status, 403);
});

test("the service's own pages and programs are allowed, and another site may link to the docs", async () => {
  for (const headers of [
    {},
    { origin: service.origin },
    { origin: service.origin.replace("http:", "https:") },
    { origin: "https://forecasts.example" },
    { "sec-fetch-site": "same-origin" },
  ]) {
    const { status } = await ask(service.port, { path: "/v1/operations", headers });
    assert.equal(status, 200, JSON.stringify(headers));
  }
  const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  assert.equal((await ask(service.port, { path: "/docs", headers: link })).status, 200);
  assert.equal((await ask(service.port, { path: "/v1/operations", headers: link })).status, 403);
});

test("a page of an allowed origin gets the CORS headers for the preflight, the answer and a refusal", async () => {
  const origin = "https://desk.example";
  const wanted = { "access-control-request-method": "POST", "access-control-request-headers": "prefer" };
  const path = "/v1/run_ml_job";
  const preflight = await ask(service.port, { method: "OPTIONS", path, headers: { origin, ...wanted } });
  assert.equal(preflight.status, 204);
  assert.equal(preflight.headers["access-control-allow-origin"], origin);
  assert.match(String(preflight.headers["access-control-allow-methods"]), /POST/);
  assert.match(String(preflight.headers["access-control-allow-headers"]), /Idempotency-Key/);
  const headers = { origin, "content-type": "application/json", "sec-fetch-site": "cross-site" };
  for (const [body, status] of [
    [JSON.stringify(ML_PAYLOAD), 202],
    ["{}", 400],
  ] as const) {
    const answer = await ask(service.port, { method: "POST", path, headers }, body);
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.headers["access-control-allow-origin"], origin);
    assert.equal(answer.headers.vary, "Origin");
    assert.match(String(answer.headers["access-control-expose-headers"]), /Operation-Location/);
  }
});

test("an unknown path is not_found, and an unknown method gets the allowed ones", async () => {
  for (const [method, path, status, allow] of [
    ["GET", "/nowhere", 404, undefined],
    ["GET", "/v1/operations/x/", 404, undefined],
    ["DELETE", "/v1/operations", 405, "GET, HEAD"],
    ["GET", "/v1/run_ml_job", 405, "POST"],
    ["POST", "/data/feature_engine_a.json", 405, "DELETE, GET, HEAD, PUT"],
    ["PATCH", "/v1/operations/x/cancel", 405, "POST"],
  ] as const) {
    const answer = await ask(service.port, { method, path });
    assert.deepEqual([answer.status, answer.headers.allow], [status, allow], `${method} ${path}`);
    assert.match(answer.headers["content-type"]!, /^application\/problem\+json/);
  }
  const { status, headers } = await ask(service.port, { path: "/v1/operations/%zz" });
  assert.deepEqual([status, headers["content-type"]], [400, "application/problem+json; charset=utf-8"]);
});

test("every answer has the headers against sniffing and framing", async () => {
  for (const path of [...HEALTH_ROUTES, ...GUARDED_ROUTES]) {
    const { headers } = await ask(service.port, { path });
    assert.equal(headers["x-content-type-options"], "nosniff", path);
    assert.match(String(headers["content-security-policy"]), /frame-ancestors 'none'/, path);
    assert.equal(headers["referrer-policy"], "no-referrer", path);
    assert.equal(headers["cross-origin-opener-policy"], undefined, "a sandboxed page must not have it");
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
  for (const [failure, status, seconds] of [
    [new MucastError("unavailable", "the database is away"), 503, "5"],
    [new MucastError("rate_limited", "full", { retryAfter: 30 }), 429, "30"],
  ] as const) {
    service.operations.failure = failure;
    const { status: found, headers } = await ask(service.port, { path: "/v1/operations" });
    assert.deepEqual([found, headers["retry-after"]], [status, seconds]);
  }
});

test("logs and telemetry contain route, status and code, but no query or headers", async () => {
  const secret = "do-not-log-this";
  const headers = { authorization: `Bearer ${secret}`, cookie: secret, "idempotency-key": secret };
  await ask(service.port, { path: `/v1/operations%3fsig=${secret}` });
  await ask(service.port, { path: `/v1/operations/abc?sig=${secret}`, headers });
  await eventually(() => service.logged.some((line) => line.includes("/v1/operations/abc")));
  assert.ok(!service.logged.some((line) => line.includes(secret)));
  assert.deepEqual(service.done.at(-1), { route: "/v1/operations/:id", status: 404, code: "not_found" });
});

test("only a trusted proxy says who the client is and how it reached the proxy", async (t) => {
  const forwarded = (address: string) => ({
    host: "localhost:1",
    "x-forwarded-for": address,
    "x-forwarded-proto": "https",
  });
  for (const [trusted_proxies, status, location] of [
    [["127.0.0.1"], 200, /^https:\/\/localhost:1\//],
    [[], 429, /^http:\/\/localhost:1\//],
  ] as const) {
    const { port } = await listenFor(t, { requests_per_minute: 1, trusted_proxies: [...trusted_proxies] });
    await ask(port, { path: "/openapi.json", headers: forwarded("10.0.0.1") });
    const other = await ask(port, { path: "/openapi.json", headers: forwarded("10.0.0.2") });
    assert.equal(other.status, status);
    const headers = { ...forwarded("10.0.0.3"), "content-type": "application/json" };
    const sent = await ask(
      port,
      { method: "POST", path: "/v1/run_ml_job", headers },
      JSON.stringify(ML_PAYLOAD),
    );
    assert.match(sent.headers["operation-location"] as string, location);
  }
});

test("at the limit of connections, idle ones make room for the next", async (t) => {
  const { port } = await listenFor(t, { connections: 16 });
  const idle = Array.from({ length: 16 }, () => connect(port, "127.0.0.1").on("error", () => undefined));
  await Promise.all(idle.map((socket) => once(socket, "connect")));
  for (let n = 0; n < 20; n++) assert.equal((await ask(port, { path: "/readyz" })).status, 200);
});
