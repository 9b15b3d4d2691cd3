import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent } from "node:http";
import { connect } from "node:net";
import { after, type TestContext, test } from "node:test";
import type { Settings } from "../../contract/settings.ts";
import { newApiKey } from "../auth/key-store.ts";
import { ML_PAYLOAD } from "./examples.ts";
import { hostNames, isAllowedHost } from "./guard.ts";
import { ask, bearer, eventually, LOCAL_TOKEN, listen, listenFor } from "./listening.testing.ts";

const service = await listen({
  public_url: "https://forecasts.example",
  allowed_hosts: ["Inside.Example:8443"],
  allowed_origins: ["https://desk.example/"],
});
after(() => service.close());

const PROBES = ["/healthz", "/readyz"];
const GUARDED_ROUTES = [
  ...["/", "/docs", "/examples/feature_engine_sp500.parquet", "/openapi.json", "/metrics"],
  ...["/v1/operations", "/data/feature_engine_a.json", "/admin/keys", "/nowhere"],
];
const JSON_TYPE = { "content-type": "application/json" };
const BODY = JSON.stringify(ML_PAYLOAD);

test("every route but those of probes refuses a Host that is not a name of the service, and names the setting", async () => {
  const { port } = service;
  for (const path of GUARDED_ROUTES) {
    const host = `evil.example:${port}`;
    const { status, text } = await ask(port, { path, headers: { host } });
    const { code, detail, title, advice } = JSON.parse(text);
    assert.deepEqual([status, code], [403, "forbidden"], path);
    assert.ok(detail.includes(host) && detail.includes("MUCAST_ALLOWED_HOSTS"), detail);
    assert.equal(title, "The Host header does not name this service");
    assert.match(advice, /MUCAST_ALLOWED_HOSTS/);
  }
  for (const path of PROBES)
    assert.equal((await ask(port, { path, headers: { host: "10.0.0.7:31337" } })).status, 200, path);
});

test("a Host may be a configured name, a loopback name with any port or the address that the connection reached, and nothing else", () => {
  const names = hostNames({ public_url: "https://a.example/path", allowed_hosts: ["b.example:8443"] });
  const at = { localAddress: "10.1.2.3", localPort: 8080 };
  for (const [host, end] of [
    ...["10.1.2.3:8080", "localhost:9000", "localhost", "127.0.0.1:9000"].map((name) => [name, at] as const),
    ...["a.example", "A.EXAMPLE:443", "b.example:8443"].map((name) => [name, at] as const),
    ["10.1.2.3", { localAddress: "::ffff:10.1.2.3", localPort: 80 }],
    ["[2001:db8::1]:8080", { localAddress: "2001:db8::1", localPort: 8080 }],
    ["[::1]:8080", { localAddress: "::1", localPort: 8080 }],
  ] as const)
    assert.ok(isAllowedHost(host, names, end), host);
  for (const host of [
    ...["10.1.2.3", "10.1.2.4:8080", "10.1.2.3:80800", "b.example", "a.example:8080", "evil.example:8080"],
    ...["127.0.0.1:8080@a.example", "localhost.evil.example:8080", "localhost.:8080", "localhost:65536"],
    ...["user@localhost:8080", "0x7f.1:8080", "[::1", "::1:8080"],
  ])
    assert.ok(!isAllowedHost(host, names, at), host);
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
});

test("the service's own pages and programs are allowed, and another site may link to the docs", async () => {
  const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  for (const [path, headers, status] of [
    ["/v1/operations", {}, 200],
    ["/v1/operations", { origin: service.origin }, 200],
    ["/v1/operations", { origin: service.origin.replace("http:", "https:") }, 200],
    ["/v1/operations", { origin: "https://forecasts.example" }, 200],
    ["/v1/operations", { "sec-fetch-site": "same-origin" }, 200],
    ["/v1/operations", { "sec-fetch-site": "same-site" }, 403],
    ["/docs", link, 200],
    ["/v1/operations", link, 403],
  ] as const)
    assert.equal((await ask(service.port, { path, headers })).status, status, JSON.stringify(headers));
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
  const headers = { origin, ...JSON_TYPE, "sec-fetch-site": "cross-site" };
  for (const [body, status] of [
    [BODY, 202],
    ["{}", 400],
  ] as const) {
    const answer = await ask(service.port, { method: "POST", path, headers }, body);
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.headers["access-control-allow-origin"], origin);
    assert.equal(answer.headers.vary, "Origin");
    if (status === 202)
      assert.match(String(answer.headers["operation-location"]), /^https:\/\/forecasts\.example\/v1\//);
    assert.match(String(answer.headers["access-control-expose-headers"]), /Operation-Location/);
  }
});

test("an unknown path is not_found, and an unknown method gets the allowed ones", async () => {
  for (const [method, path, status, allow] of [
    ["GET", "/nowhere", 404, undefined],
    ["GET", "/v1/operations/x/", 404, undefined],
    ["GET", "/v1/operations/%zz", 400, undefined],
    ["DELETE", "/v1/operations", 405, "GET, HEAD"],
    ["GET", "/v1/run_ml_job", 405, "POST"],
    ["POST", "/data/feature_engine_a.json", 405, "DELETE, GET, HEAD, PUT"],
    ["PATCH", "/v1/operations/x/cancel", 405, "POST"],
    ["POST", "/web/1/console/main.js", 405, "GET, HEAD"],
  ] as const) {
    const answer = await ask(service.port, { method, path });
    assert.deepEqual([answer.status, answer.headers.allow], [status, allow], `${method} ${path}`);
    assert.equal(answer.headers["content-type"], "application/problem+json; charset=utf-8");
  }
});

test("every answer has the headers against sniffing and framing", async () => {
  for (const path of [...PROBES, ...GUARDED_ROUTES]) {
    const { headers } = await ask(service.port, { path });
    const { "x-content-type-options": sniff, "referrer-policy": referrer } = headers;
    // With an opener policy, a browser shows no sandboxed page.
    const found = [sniff, referrer, headers["cross-origin-opener-policy"]];
    assert.deepEqual(found, ["nosniff", "no-referrer", undefined], path);
    assert.match(String(headers["content-security-policy"]), /frame-ancestors 'none'/, path);
  }
});

test("the problem of a defect has only an id, and the log has the error under that id", async (t) => {
  const failure = new Error("password hunter2 at https://a.example/?sig=abc");
  t.mock.method(service.operations, "list", () => Promise.reject(failure));
  const answer = await ask(service.port, { path: "/v1/operations" });
  const problem = JSON.parse(answer.text);
  assert.deepEqual([answer.status, problem.code], [500, "internal"]);
  assert.ok(!answer.text.includes("hunter2"));
  const line = service.logged.find((text) => text.includes(problem.id))!;
  assert.ok(line.includes("hunter2") && !line.includes("sig=abc"), line);
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
    const headers = { ...forwarded("10.0.0.3"), ...JSON_TYPE };
    const sent = await ask(port, { method: "POST", path: "/v1/run_ml_job", headers }, BODY);
    assert.match(sent.headers["operation-location"] as string, location);
  }
});

/** Minutes pass with this clock alone. */
function stopClock(t: TestContext): (milliseconds: number) => void {
  let now = Date.now();
  t.mock.method(Date, "now", () => now);
  return (milliseconds) => {
    now += milliseconds;
  };
}

/** A service, and the status of its answer to a token. */
async function serve(t: TestContext, settings: Partial<Settings>) {
  const limited = await listenFor(t, settings);
  const statusOf = async (token?: string, path = "/v1/operations") =>
    (await ask(limited.port, { path, headers: bearer(token) })).status;
  return { ...limited, statusOf };
}

test("requests beyond the rate of an address are refused for the rest of the minute, and health checks do not count", async (t) => {
  const { port, statusOf } = await serve(t, { requests_per_minute: 3 });
  const setForward = stopClock(t);
  for (let n = 0; n < 3; n++) assert.equal(await statusOf(), 200);
  setForward(20_000);
  const refused = await ask(port, { path: "/v1/operations" });
  assert.deepEqual([refused.status, refused.headers["retry-after"]], [429, "40"]);
  for (const path of PROBES) assert.equal(await statusOf(undefined, path), 200);
  setForward(40_000);
  assert.equal(await statusOf(), 200);
});

test("a caller's requests count for that caller alone, and those without a key for their address", async (t) => {
  const { keys, statusOf } = await serve(t, { auth: "keys", requests_per_minute: 2 });
  stopClock(t);
  for (const status of [401, 401, 429]) assert.equal(await statusOf(), status);
  for (const name of ["ann", "ben"]) {
    const { token } = await keys.create(name, ["read"]);
    for (const status of [200, 200, 429]) assert.equal(await statusOf(token), status);
  }
  assert.equal(await statusOf(LOCAL_TOKEN), 200);
});

test("beyond failed_tries_per_minute of an address only keys that were valid before are checked", async (t) => {
  const { keys, statusOf } = await serve(t, { auth: "keys", failed_tries_per_minute: 5 });
  const setForward = stopClock(t);
  const [good, late] = [await keys.create("good", ["read"]), await keys.create("late", ["read"])];
  assert.equal(await statusOf(good.token), 200);
  for (let n = 0; n < 5; n++) assert.equal(await statusOf(newApiKey().token), 401);
  const find = t.mock.method(keys, "find");
  assert.equal(await statusOf(newApiKey().token), 429);
  assert.equal(await statusOf(late.token), 429, "an unknown key has to wait");
  assert.equal(find.mock.callCount(), 0);
  for (let n = 0; n < 20; n++) assert.equal(await statusOf(good.token), 200);
  await keys.revoke(good.key.id);
  assert.equal(await statusOf(good.token), 401, "a known key is still checked");
  assert.equal(await statusOf(good.token), 429, "after that it counts as unknown");
  setForward(60_000);
  assert.equal(await statusOf(late.token), 200);
});

test("beyond the limit of open connections idle ones are closed, and the service answers again", async (t) => {
  const { port } = await listenFor(t, { connections: 16 });
  for (let n = 0; n < 16; n++) {
    const agent = new Agent({ keepAlive: true });
    t.after(() => agent.destroy());
    await ask(port, { agent, path: "/healthz" });
  }
  const answers: number[] = [];
  await eventually(async () => {
    answers.push(
      await ask(port, { path: "/healthz" }).then(
        ({ status }) => status,
        () => 0,
      ),
    );
    return answers.at(-1) === 200;
  });
  assert.equal(answers[0], 0, "one is refused");
});

test("a connection that sends nothing makes room for the next", async (t) => {
  const { port } = await listenFor(t, { connections: 16 });
  for (let n = 0; n < 16; n++) {
    const silent = connect(port, "127.0.0.1").on("error", () => undefined);
    t.after(() => silent.destroy());
    await once(silent, "connect");
  }
  assert.equal((await ask(port, { path: "/healthz" })).status, 200);
});
