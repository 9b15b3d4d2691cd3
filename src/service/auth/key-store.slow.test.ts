import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { jsonBytes } from "../../contract/json/bounded-json.ts";
import { SIZES } from "../../contract/schema/answer-limits.ts";
import { settingsSchema } from "../../contract/settings.ts";
import { onEachDatabase, withMembers } from "../database/databases.testing.ts";
import { noLog } from "../telemetry/no-telemetry.testing.ts";
import { buildAuthenticate, firstIssuer, keyAuthenticate } from "./authenticate.ts";
import { apiKeySchema, KeyStore, MAX_KEYS_OF_PAGE, parseApiKey } from "./key-store.ts";

onEachDatabase(({ database }) => {
  const open = () => new KeyStore(database());

  test("a key is created, found, listed newest first and revoked for good", async () => {
    const keys = open();
    const { key, token } = await keys.create("nightly", ["read", "write"]);
    apiKeySchema.parse(key);
    const { id } = parseApiKey(token)!;
    assert.equal(key.id, id);
    assert.deepEqual((await keys.find(id))!.scopes, ["read", "write"]);
    const second = await keys.create("reader", ["read"]);
    const names = (await keys.list()).map(({ name }) => name);
    assert.deepEqual(names.slice(0, 2), ["reader", "nightly"]);
    const revoked = (await keys.revoke(id))!;
    assert.ok(revoked.revoked_at !== null);
    assert.equal(await keys.find(id), undefined);
    assert.deepEqual(await keys.revoke(id), revoked, "a repeated call keeps the time of the first");
    assert.ok(await keys.find(second.key.id));
    assert.equal(await keys.revoke("unknown"), undefined);
  });

  test("a key authenticates its caller with its scopes, and the store keeps the time of the use", async () => {
    const keys = open();
    const { key, token } = await keys.create("x", ["read"]);
    const used = async () => (await keys.list()).find(({ id }) => id === key.id)!.last_used_at;
    assert.equal(await used(), null);
    const authenticate = keyAuthenticate(keys);
    const caller = await authenticate(`Bearer ${token}`);
    assert.deepEqual([caller.subject, [...caller.scopes]], [`key:${key.id}`, ["read"]]);
    const first = await used();
    assert.ok(first !== null);
    await authenticate(`Bearer ${token}`);
    assert.equal(await used(), first, "at most once a minute");
  });

  test("in the mode keys, only a valid key that is not revoked and the operator's token authenticate", async () => {
    const keys = open();
    const settings = { ...settingsSchema.parse({}), auth: "keys" as const, host: "0.0.0.0" };
    const parts = { database: database(), keys, log: noLog, localToken: "the-token" };
    const authenticate = await buildAuthenticate(settings, parts);
    const { key, token } = await keys.create("x", ["read"]);
    const { secret } = parseApiKey((await keys.create("y", ["read"])).token)!;
    assert.equal((await authenticate(`bearer ${token}`)).subject, `key:${key.id}`);
    assert.equal((await authenticate("Bearer the-token")).subject, "local");
    const refused = async (header: string | undefined) =>
      assert.rejects(authenticate(header), ({ code, message }: MucastError) => {
        assert.ok(!message.includes(token.slice(30, 50)), message);
        return code === "unauthorized";
      });
    for (const header of [undefined, "", "Bearer ", token, `Basic ${token}`, `Bearer ${token} ${token}`])
      await refused(header);
    for (const wrong of [
      ...[`${token}x`, token.slice(0, -1), token.toUpperCase(), "a".repeat(9_000)],
      ...[`mucast_${key.id}_${secret}`, `mucast_${"0".repeat(16)}_${secret}`],
    ])
      await refused(`Bearer ${wrong}`);
    await keys.revoke(key.id);
    await refused(`Bearer ${token}`);
  });

  test("a database that takes no writes authenticates, and the log says once that uses are not stored", async () => {
    const { token } = await open().create("x", ["read"]);
    const full = () => Promise.reject(new MucastError("unavailable", "the disk is full"));
    const lines: string[] = [];
    const log = { warn: (_fields: object, message: string) => void lines.push(message) };
    const keys = new KeyStore(withMembers(database(), { write: full }), log);
    for (let n = 0; n < 2; n++) assert.ok(await keyAuthenticate(keys)(`Bearer ${token}`));
    assert.deepEqual(lines, ["the last use of an API key could not be stored"]);
  });

  test("pages list each key once, newest first, even if many were created at the same moment; none has a secret", async () => {
    const keys = open();
    const { token } = await keys.create("first", ["read"]);
    for (let nth = 0; nth < MAX_KEYS_OF_PAGE; nth++) await keys.create("\u0001".repeat(100), ["read"]);
    const seen: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await keys.page(cursor);
      assert.ok(jsonBytes(page) <= SIZES.page, `${jsonBytes(page)}`);
      seen.push(...page.keys.map(({ id }) => id));
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    const all = (await keys.list()).map(({ id }) => id);
    assert.deepEqual(seen, all);
    assert.deepEqual((await keys.page(seen.at(-1))).keys, []);
    const rows = await database().db.selectFrom("api_keys").selectAll().execute();
    assert.ok(!JSON.stringify(rows).includes(parseApiKey(token)!.secret), "the database has only its hash");
  });

  test("the first issuer stays the first one, even if several services start at once", async () => {
    const first = (issuer: string) => firstIssuer(database(), issuer);
    const answers = await Promise.all(
      ["https://id.example", "https://id.example/", "https://id.example"].map(first),
    );
    assert.equal(new Set(answers).size, 1, String(answers));
    assert.equal(await first("https://other.example"), answers[0]);
  });
});
