/** `mucast keys` while no service runs; who-may.slow.test.ts tests it with a running one. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { withKeys } from "../../src/cli/keys.ts";
import { keys, TOKEN } from "./keys-command.testing.ts";
import { endServices, serviceFolder } from "./service.testing.ts";

after(endServices);

test("mucast keys on a folder that no service has opened yet names faulty flags of a new key and creates nothing; creates, lists and revokes a key", {
  timeout: 600_000,
}, async () => {
  const dataDir = join(await serviceFolder(), "data");
  const wrong = await keys(dataDir, "create", "--name", " ", "--scopes", "read,all");
  assert.deepEqual([wrong.code, wrong.stdout], [2, ""]);
  assert.match(wrong.stderr, /--name: must not be empty/);
  assert.match(wrong.stderr, /--scopes: must be one of read, write, admin, got "all"/);
  assert.ok(!existsSync(dataDir));

  const made = await keys(dataDir, "create", "--name", "the optimizer", "--scopes", "read");
  assert.equal(made.code, 0, made.stderr);
  const [token, id] = TOKEN.exec(made.stdout)! as unknown as [string, string];
  const secret = token.trim().slice(`mucast_${id}_`.length);
  assert.ok(!made.stderr.includes(secret));
  const { revoked, all, none } = await withKeys({ data_dir: dataDir }, async (keys) => ({
    revoked: await keys.revoke(id),
    all: await keys.list(),
    none: await keys.revoke("0123456789abcdef"),
  }));
  const [key, ...others] = all;
  assert.deepEqual([key!.id, key!.name, key!.scopes, others], [id, "the optimizer", ["read"], []]);
  assert.equal(revoked!.id, id);
  assert.notEqual(key!.revoked_at, null);
  assert.equal(none, undefined);
  assert.doesNotMatch(JSON.stringify(all), new RegExp(`${secret}|hash|[0-9a-f]{64}`));
});
