import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { z } from "zod";
import { queueSchema } from "../../contract/api/queue-view.ts";
import { apiKeySchema } from "../auth/key-store.ts";
import { ML_PAYLOAD } from "./examples.ts";
import type { ReadyCheck } from "./http-app.ts";
import { ask, type Listening, LOCAL_TOKEN, listen, listenFor } from "./listening.testing.ts";

test("/healthz always answers 200, and /readyz only if every check passes", async (t) => {
  let checks: ReadyCheck[] = [
    { name: "database", ok: true },
    { name: "storage", ok: true },
  ];
  const service = await listenFor(t, {}, { ready: async () => checks });
  const ready = await ask(service.port, { path: "/readyz" });
  assert.deepEqual([ready.status, JSON.parse(ready.text).checks.length], [200, 2]);
  checks = [
    { name: "database", ok: true },
    { name: "storage", ok: false, message: "it does not answer" },
  ];
  const away = await ask(service.port, { path: "/readyz" });
  const problem = JSON.parse(away.text);
  assert.deepEqual(
    [away.status, problem.code, problem.detail],
    [503, "unavailable", "storage: it does not answer"],
  );
  assert.deepEqual(problem.checks, checks);
  assert.equal((await ask(service.port, { path: "/healthz" })).status, 200);
});

test("of many probes that a service is not ready for, the log has the first", async (t) => {
  const passing: ReadyCheck[] = [
    { name: "storage", ok: true },
    { name: "accepting", ok: true },
  ];
  const without = (failed: string): ReadyCheck[] =>
    passing.map((check) => (check.name === failed ? { ...check, ok: false, message: "away" } : check));
  let checks = passing;
  const service = await listenFor(t, {}, { ready: async () => checks });
  for (checks of [passing, without("storage"), passing, without("accepting")]) {
    for (let probe = 0; probe < 3; probe++) await ask(service.port, { path: "/readyz" });
  }
  const lines = service.logged.map((line) => JSON.parse(line)).filter(({ message }) => message !== "request");
  assert.deepEqual(lines, [
    { message: "the service is not ready", detail: "storage: away" },
    { message: "the service is ready" },
    { message: "the service is not ready", detail: "accepting: away" },
  ]);
});

test("/metrics needs no credentials with auth none, and read otherwise", async (t) => {
  const open = await listenFor(t);
  // As behind a proxy on the same machine.
  const shut = await listenFor(t, { auth: "keys" });
  const { token } = await shut.keys.create("prometheus", ["read"]);
  const status = async (port: number, headers = {}) =>
    (await ask(port, { path: "/metrics", headers })).status;
  assert.equal(await status(open.port), 200);
  assert.equal(await status(shut.port), 401);
  assert.equal(await status(shut.port, { authorization: `Bearer ${token}` }), 200);
});

test("/v1/queue tells a caller its scopes, and only the totals of other callers", async (t) => {
  const { port, keys, operations } = await listenFor(t, { auth: "keys" });
  const [writer, reader] = [
    await keys.create("a writer", ["write", "read"]),
    await keys.create("b", ["read"]),
  ];
  const other = { subject: "key:other", scopes: new Set(["write"] as const) };
  await operations.submit(other, { operation: "run_ml_job", payload: JSON.stringify(ML_PAYLOAD) });
  const asked = async (token: string) => {
    const { status, text } = await ask(port, {
      path: "/v1/queue",
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(status, 200, text);
    return queueSchema.parse(JSON.parse(text));
  };
  const seen = await asked(writer.token);
  assert.deepEqual(seen.scopes, ["read", "write"]);
  assert.deepEqual([seen.waiting, seen.running, seen.own], [1, 0, { waiting: 0, running: 0 }]);
  assert.deepEqual((await asked(reader.token)).scopes, ["read"]);
  assert.equal((await ask(port, { path: "/v1/queue" })).status, 401);
});

test("with OIDC a refusal names the metadata by which an MCP client finds the issuer", async (t) => {
  const given = { auth: "oidc", oidc_issuer: "https://id.example", oidc_audience: "mucast" } as const;
  const { port, origin } = await listenFor(t, given);
  const refused = await ask(port, { method: "POST", path: "/mcp" });
  assert.equal(refused.status, 401);
  const [, url] = /resource_metadata="([^"]+)"/.exec(refused.headers["www-authenticate"]!)!;
  assert.equal(url, `${origin}/.well-known/oauth-protected-resource`);
  for (const path of ["", "/mcp"]) {
    assert.deepEqual(await (await fetch(`${url}${path}`)).json(), {
      resource: `${origin}${path}`,
      authorization_servers: ["https://id.example"],
      scopes_supported: ["mucast.read", "mucast.write"],
      bearer_methods_supported: ["header"],
    });
  }
  const { port: open } = await listenFor(t);
  assert.equal((await ask(open, { path: "/.well-known/oauth-protected-resource" })).status, 404);
});

/** The answer to the creation of a key. No other answer has the token. */
const createdKeySchema = z.strictObject({ key: apiKeySchema, token: z.string() });
const keyListSchema = z.strictObject({ keys: z.array(apiKeySchema), next_cursor: z.string().nullable() });

let service: Listening;
before(async () => {
  service = await listen({ auth: "keys" });
});
after(() => service.close());

function keys(method: string, token: string, body?: unknown, id = ""): Promise<Response> {
  return fetch(`${service.origin}/admin/keys${id}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

test("the operator creates, lists and revokes keys, and only the creation returns the token", async () => {
  const made = await keys("POST", LOCAL_TOKEN, { name: "nightly" });
  assert.equal(made.status, 201);
  const { key, token } = createdKeySchema.parse(await made.json());
  assert.deepEqual([key.name, key.scopes, key.subject], ["nightly", ["read", "write"], `key:${key.id}`]);
  const operations = () =>
    fetch(`${service.origin}/v1/operations`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal((await operations()).status, 200);
  const listed = await (await keys("GET", LOCAL_TOKEN)).text();
  assert.equal(keyListSchema.parse(JSON.parse(listed)).keys[0]!.id, key.id);
  // The secret is base64url, which may contain underscores, too.
  const secret = token.slice(`mucast_${key.id}_`.length);
  assert.ok(secret.length > 40 && !listed.includes(secret));
  assert.equal((await keys("DELETE", LOCAL_TOKEN, undefined, `/${key.id}`)).status, 200);
  const refused = await operations();
  assert.equal(refused.status, 401);
  assert.equal(refused.headers.get("www-authenticate"), 'Bearer realm="mucast", error="invalid_token"');
  assert.equal((await keys("DELETE", LOCAL_TOKEN, undefined, "/unknown")).status, 404);
});

test("other callers cannot manage keys, and a key has only its scopes", async () => {
  const { token } = await service.keys.create("reader", ["read"]);
  for (const method of ["GET", "POST"]) {
    const answer = await keys(method, token, method === "POST" ? { name: "x" } : undefined);
    assert.equal(answer.status, 403);
    assert.match(answer.headers.get("www-authenticate")!, /insufficient_scope.*scope="admin"/);
  }
  assert.equal((await keys("GET", "wrong")).status, 401);
  const submit = await fetch(`${service.origin}/v1/run_ml_job`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(submit.status, 403);
  assert.equal(
    (await fetch(`${service.origin}/v1/operations`)).headers.get("www-authenticate"),
    'Bearer realm="mucast"',
  );
});

test("the faults of a new key have their paths", async () => {
  const answer = await keys("POST", LOCAL_TOKEN, { name: "", scopes: ["raed"] });
  const { faults } = (await answer.json()) as { faults: { path: string; suggestion?: string }[] };
  assert.deepEqual([answer.status, faults.map(({ path }) => path)], [400, ["body.name", "body.scopes[0]"]]);
  assert.equal(faults[1]!.suggestion, "read");
});

test("without authentication, only the operator can manage keys", async (t) => {
  const open = await listenFor(t);
  const status = async (headers: Record<string, string>) =>
    (await ask(open.port, { path: "/admin/keys", headers })).status;
  assert.equal(await status({}), 403);
  assert.equal(await status({ authorization: `Bearer ${LOCAL_TOKEN}` }), 200);
});
