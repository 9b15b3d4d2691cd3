import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { ApiKey } from "../../src/service/auth/key-store.ts";
import { mucast } from "../end-to-end/command.ts";
import { Api } from "./api.testing.ts";
import { endServices, serviceFolder, startServe } from "./service.testing.ts";

const TOKEN = /^mucast_([0-9a-f]{16})_[\w-]{43}\n$/;

after(endServices);

/** `mucast keys` with these words on a data folder. */
async function keys(dataDir: string, ...words: string[]) {
  const { code, stdout, stderr } = await mucast(["keys", ...words, "--data-dir", dataDir]);
  return { code, stdout, stderr };
}

describe("mucast keys on a service that runs", { timeout: 600_000 }, () => {
  test("makes a key, lists it without its secret, and revokes it", async () => {
    const { dataDir, url } = await startServe({ env: { MUCAST_AUTH: "keys" } });
    const made = await keys(dataDir, "create", "--name", "the optimizer", "--scopes", "read");
    assert.equal(made.code, 0, made.stderr);
    const [token, id] = TOKEN.exec(made.stdout)! as unknown as [string, string];
    const secret = token.trim().slice(`mucast_${id}_`.length);
    assert.ok(!made.stderr.includes(secret));
    assert.equal(await statusFor(url, token.trim()), 200);

    const second = JSON.parse((await keys(dataDir, "create", "--name", "b", "--json")).stdout);
    assert.deepEqual(second.key.scopes, ["read", "write"]);
    assert.match(`${second.token}\n`, TOKEN);

    const listed = await keys(dataDir, "list");
    assert.match(listed.stdout, new RegExp(`^${id} +the optimizer +read +\\S+Z +(never|\\S+Z) +-$`, "m"));

    assertRevoked(id, await keys(dataDir, "revoke", id));
    assert.equal(await statusFor(url, token.trim()), 401);
    const all = (await keys(dataDir, "list", "--json")).stdout;
    const found: ApiKey[] = JSON.parse(all).keys;
    assert.deepEqual(
      found.map((key) => key.id),
      [second.key.id, id],
    );
    assert.notEqual(found[1]!.revoked_at, null);
    assert.doesNotMatch(all + listed.stdout, new RegExp(`${secret}|hash|[0-9a-f]{64}`));
    assertNoKey(await keys(dataDir, "revoke", "0123456789abcdef"));
  });
});

describe("mucast keys on a folder that no service has opened yet", { timeout: 600_000 }, () => {
  test("tells what is wrong with a new key by its flags and makes nothing; makes a key, lists and revokes it", async () => {
    const dataDir = join(await serviceFolder({ isFirstStart: true }), "data");
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
    assertRevoked(id, await keys(dataDir, "revoke", id));
    const all = (await keys(dataDir, "list", "--json")).stdout;
    const [key, ...others]: ApiKey[] = JSON.parse(all).keys;
    assert.deepEqual([key!.id, key!.name, key!.scopes, others], [id, "the optimizer", ["read"], []]);
    assert.notEqual(key!.revoked_at, null);
    assert.doesNotMatch(all, new RegExp(`${secret}|hash|[0-9a-f]{64}`));
    assertNoKey(await keys(dataDir, "revoke", "0123456789abcdef"));
  });
});

type Told = Awaited<ReturnType<typeof keys>>;

function assertRevoked(id: string, { code, stdout, stderr }: Told): void {
  assert.deepEqual([code, stdout], [0, ""]);
  assert.match(stderr, new RegExp(`^revoked key ${id}, the optimizer \\(read\\)\n$`));
}

function assertNoKey({ code, stdout, stderr }: Told): void {
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /not_found[\s\S]*there is no key 0123456789abcdef/);
}

async function statusFor(url: string, token: string): Promise<number> {
  const api = new Api(url, { authorization: `Bearer ${token}` });
  return (await api.ask("GET", "/v1/operations")).status;
}
