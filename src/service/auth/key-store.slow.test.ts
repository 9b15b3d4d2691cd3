import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { jsonBytes } from "../../contract/json/bounded-json.ts";
import { SIZES } from "../../contract/schema/answer-limits.ts";
import { onEachDatabase, withMembers } from "../database/databases.testing.ts";
import { firstIssuer, keyAuthenticate } from "./authenticate.ts";
import { FakeKeyStore } from "./fake-key-store.testing.ts";
import { apiKeySchema, KeyStore, MAX_KEYS_OF_PAGE, parseApiKey } from "./key-store.ts";

/** The tests that every KeyStore has to pass. */
function keyStoreSuite(open: () => Pick<KeyStore, keyof KeyStore>): void {
  test("a key is created, found, listed newest first and revoked for good", async () => {
    const keys = open();
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
    assert.deepEqual(await keys.revoke(id), revoked, "a repeated call keeps the time of the first");
    assert.ok(await keys.find(second.key.id));
    assert.equal(await keys.revoke("unknown"), undefined);
    assert.equal(await keys.find("unknown"), undefined);
  });

  test("pages list each key once, newest first, even if many were created at the same moment", async () => {
    const keys = open();
    for (let nth = 0; nth <= MAX_KEYS_OF_PAGE; nth++) await keys.create("\u0001".repeat(100), ["read"]);
    const seen: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await keys.page(cursor);
      assert.ok(jsonBytes(page) <= SIZES.page, `${jsonBytes(page)}`);
      seen.push(...page.keys.map(({ id }) => id));
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    assert.deepEqual(
      seen,
      (await keys.list()).map(({ id }) => id),
    );
    assert.deepEqual((await keys.page(seen.at(-1))).keys, []);
  });

  test("a key authenticates its caller with its scopes, and the store keeps the time of the use", async () => {
    const keys = open();
    const { key, token } = await keys.create("x", ["read"]);
    const caller = await keyAuthenticate(keys)(`Bearer ${token}`);
    assert.deepEqual([caller.subject, [...caller.scopes]], [`key:${key.id}`, ["read"]]);
    const shown = (await keys.list()).find(({ id }) => id === key.id)!;
    assert.ok(shown.last_used_at !== null);
    await keys.recordUse(key.id);
    const again = (await keys.list()).find(({ id }) => id === key.id)!;
    assert.equal(again.last_used_at, shown.last_used_at, "at most once a minute");
  });
}

describe("in memory", () => keyStoreSuite(() => new FakeKeyStore()));

onEachDatabase(({ database }) => {
  test("the first issuer stays the first one, even if several services start at once", async () => {
    const first = (issuer: string) => firstIssuer(database(), issuer);
    const answers = await Promise.all(
      ["https://id.example", "https://id.example/", "https://id.example"].map(first),
    );
    assert.equal(new Set(answers).size, 1, String(answers));
    assert.equal(await first("https://other.example"), answers[0]);
  });

  keyStoreSuite(() => new KeyStore(database()));

  test("a database that takes no writes authenticates, and the log says once that uses are not stored", async () => {
    const { token } = await new KeyStore(database()).create("x", ["read"]);
    const full = () => Promise.reject(new MucastError("unavailable", "the disk is full"));
    const lines: string[] = [];
    const log = { warn: (_fields: object, message: string) => void lines.push(message) };
    const keys = new KeyStore(withMembers(database(), { write: full }), log);
    for (let n = 0; n < 2; n++) assert.ok(await keyAuthenticate(keys)(`Bearer ${token}`));
    assert.deepEqual(lines, ["the last use of an API key could not be stored"]);
  });

  test("the database stores only a hash of a token's secret", async () => {
    const keys = new KeyStore(database());
    const { token } = await keys.create("x", ["read"]);
    const rows = await database().db.selectFrom("api_keys").selectAll().execute();
    assert.ok(!JSON.stringify(rows).includes(parseApiKey(token)!.secret));
  });
});
