import assert from "node:assert/strict";
import { after, test } from "node:test";
import { z } from "zod";
import { queueSchema } from "../../contract/api/queue-view.ts";
import { apiKeySchema } from "../auth/key-store.ts";
import type { ReadyCheck } from "./http-app.ts";
import { ask, bearer, type Listening, LOCAL_TOKEN, listen, listenFor } from "./listening.testing.ts";

test("/readyz answers 200 only if every check passes, /healthz always, and the log has a change only", async (t) => {
  const passing: ReadyCheck[] = [
    { name: "storage", ok: true },
    { name: "accepting", ok: true },
  ];
  const without = (failed: string): ReadyCheck[] =>
    passing.map((check) => (check.name === failed ? { ...check, ok: false, message: "away" } : check));
  let checks = passing;
  const { port, logged } = await listenFor(t, {}, { ready: async () => checks });
  for (const [found, status, detail] of [
    [passing, 200],
    [without("storage"), 503, "storage: away"],
    [passing, 200],
    [without("accepting"), 503, "accepting: away"],
  ] as const) {
    checks = found;
    for (let probe = 0; probe < 3; probe++) {
      const answer = await ask(port, { path: "/readyz" });
      const body = JSON.parse(answer.text);
      assert.deepEqual([answer.status, body.checks, body.detail], [status, checks, detail]);
    }
    assert.equal((await ask(port, { path: "/healthz" })).status, 200);
  }
  const lines = logged.map((line) => JSON.parse(line)).filter(({ message }) => message !== "request");
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
  const status = async ({ port }: Listening, key?: string) =>
    (await ask(port, { path: "/metrics", headers: bearer(key) })).status;
  assert.deepEqual([await status(open), await status(shut), await status(shut, token)], [200, 401, 200]);
});

test("/v1/queue tells a caller its scopes, and only the totals of other callers", async (t) => {
  const { port, keys, submit } = await listenFor(t, { auth: "keys" });
  const writer = await keys.create("a writer", ["write", "read"]);
  const reader = await keys.create("b", ["read"]);
  await submit("run_ml_job", { subject: "key:other", scopes: new Set(["write"]) });
  const read = async (token: string) => {
    const { text } = await ask(port, { path: "/v1/queue", headers: bearer(token) });
    return queueSchema.parse(JSON.parse(text));
  };
  const seen = await read(writer.token);
  assert.deepEqual(seen.scopes, ["read", "write"]);
  assert.deepEqual([seen.waiting, seen.running, seen.own], [1, 0, { waiting: 0, running: 0 }]);
  assert.deepEqual((await read(reader.token)).scopes, ["read"]);
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

const service = await listen({ auth: "keys" });
after(() => service.close());

/** Sends a request with a key, and returns the status, the headers and the parsed body. */
async function send(method: string, path: string, token?: string, body?: object) {
  const headers = { ...bearer(token), ...(body === undefined ? {} : { "content-type": "application/json" }) };
  const answer = await ask(service.port, { method, path, headers }, body && JSON.stringify(body));
  return { ...answer, challenge: answer.headers["www-authenticate"], body: JSON.parse(answer.text) };
}

test("the operator creates, lists and revokes keys, and only the creation returns the token", async () => {
  const made = await send("POST", "/admin/keys", LOCAL_TOKEN, { name: "nightly" });
  assert.equal(made.status, 201);
  const { key, token } = createdKeySchema.parse(made.body);
  assert.deepEqual([key.name, key.scopes, key.subject], ["nightly", ["read", "write"], `key:${key.id}`]);
  assert.equal((await send("GET", "/v1/operations", token)).status, 200);
  const listed = await send("GET", "/admin/keys", LOCAL_TOKEN);
  assert.equal(keyListSchema.parse(listed.body).keys[0]!.id, key.id);
  // The secret is base64url, which may contain underscores, too.
  const secret = token.slice(`mucast_${key.id}_`.length);
  assert.ok(secret.length > 40 && !listed.text.includes(secret));
  assert.equal((await send("DELETE", `/admin/keys/${key.id}`, LOCAL_TOKEN)).status, 200);
  const refused = await send("GET", "/v1/operations", token);
  assert.deepEqual(
    [refused.status, refused.challenge],
    [401, 'Bearer realm="mucast", error="invalid_token"'],
  );
  assert.equal((await send("DELETE", "/admin/keys/unknown", LOCAL_TOKEN)).status, 404);
});

test("other callers cannot manage keys, also without authentication, and a key has only its scopes", async (t) => {
  const open = await listenFor(t);
  for (const [key, status] of [
    [undefined, 403],
    [LOCAL_TOKEN, 200],
  ] as const)
    assert.equal((await ask(open.port, { path: "/admin/keys", headers: bearer(key) })).status, status);

  const { token } = await service.keys.create("reader", ["read"]);
  for (const [method, path, scope] of [
    ["GET", "/admin/keys", "admin"],
    ["POST", "/admin/keys", "admin"],
    ["POST", "/v1/run_ml_job", "write"],
  ] as const) {
    const { status, challenge } = await send(method, path, token);
    const wanted = `Bearer realm="mucast", error="insufficient_scope", scope="${scope}"`;
    assert.deepEqual([status, challenge], [403, wanted]);
  }
  assert.equal((await send("GET", "/admin/keys", "wrong")).status, 401);
  assert.equal((await send("GET", "/v1/operations")).challenge, 'Bearer realm="mucast"');
});
