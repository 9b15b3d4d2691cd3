import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { z } from "zod";
import { apiKeySchema } from "../auth/key-store.ts";
import { type Listening, LOCAL_TOKEN, listen, listenFor } from "./listening.testing.ts";

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
  const ask = (headers: Record<string, string>) => fetch(`${open.origin}/admin/keys`, { headers });
  assert.equal((await ask({})).status, 403);
  assert.equal((await ask({ authorization: `Bearer ${LOCAL_TOKEN}` })).status, 200);
});
