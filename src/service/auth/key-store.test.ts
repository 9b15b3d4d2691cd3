import assert from "node:assert/strict";
import { test } from "node:test";
import { onEachDatabase } from "../database/databases.testing.ts";
import { keyAuthenticate, parseApiKey } from "./api-key.ts";
import { apiKeySchema, DatabaseKeyStore } from "./key-store.ts";

onEachDatabase(({ database }) => {
  test("a key is made, found, listed newest first and revoked for good", async () => {
    const keys = new DatabaseKeyStore(database());
    const { key, token } = await keys.create("nightly", ["read", "write"]);
    apiKeySchema.parse(key);
    const { id } = parseApiKey(token)!;
    assert.equal(key.id, id);
    assert.deepEqual((await keys.find(id))!.scopes, ["read", "write"]);
    const second = await keys.create("reader", ["read"]);
    assert.deepEqual(
      (await keys.list()).slice(0, 2).map(({ name }) => name),
      ["reader", "nightly"],
    );
    const revoked = (await keys.revoke(id))!;
    assert.ok(revoked.revoked_at !== null);
    assert.equal(await keys.find(id), undefined);
    assert.deepEqual(await keys.revoke(id), revoked, "the first time counts");
    assert.ok(await keys.find(second.key.id));
    assert.equal(await keys.revoke("unknown"), undefined);
  });

  test("of the token nothing is stored but a hash of its secret", async () => {
    const keys = new DatabaseKeyStore(database());
    const { token } = await keys.create("x", ["read"]);
    const { rows } = await database().query("select * from api_keys");
    assert.ok(!JSON.stringify(rows).includes(parseApiKey(token)!.secret));
  });

  test("a key lets its caller in with its scopes, and notes that it was used", async () => {
    const keys = new DatabaseKeyStore(database());
    const { key, token } = await keys.create("x", ["read"]);
    const caller = await keyAuthenticate(keys)(`Bearer ${token}`);
    assert.deepEqual([caller.subject, [...caller.scopes]], [`key:${key.id}`, ["read"]]);
    const shown = (await keys.list()).find(({ id }) => id === key.id)!;
    assert.ok(shown.last_used_at !== null);
    await keys.used(key.id);
    const again = (await keys.list()).find(({ id }) => id === key.id)!;
    assert.equal(again.last_used_at, shown.last_used_at, "at most once a minute");
  });
});
