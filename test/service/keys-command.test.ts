import assert from "node:assert/strict";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { mucast } from "../end-to-end/command.ts";
import { Api } from "./api.testing.ts";
import { endServices, type Serving, serviceFolder, startServe } from "./service.testing.ts";

const TOKEN = /^mucast_([0-9a-f]{16})_[\w-]{43}\n$/;

after(endServices);

/** `mucast keys` with these words on a data folder. */
async function keys(dataDir: string, ...words: string[]) {
  const { code, stdout, stderr } = await mucast(["keys", ...words, "--data-dir", dataDir]);
  return { code, stdout, stderr };
}

for (const place of ["a folder that no service has open", "a service that runs"]) {
  describe(`mucast keys on ${place}`, { timeout: 600_000 }, () => {
    test("makes a key, lists it without its secret, and revokes it", async () => {
      const { dataDir, url } = await opened(place === "a service that runs");
      const made = await keys(dataDir, "create", "--name", "the optimizer", "--scopes", "read");
      assert.equal(made.code, 0, made.stderr);
      const [token, id] = TOKEN.exec(made.stdout)! as unknown as [string, string];
      const secret = token.trim().slice(`mucast_${id}_`.length);
      assert.ok(!made.stderr.includes(secret));
      if (url !== undefined) assert.equal(await statusFor(url, token.trim()), 200);

      const second = JSON.parse((await keys(dataDir, "create", "--name", "b", "--json")).stdout);
      assert.deepEqual(second.key.scopes, ["read", "write"]);
      assert.match(`${second.token}\n`, TOKEN);

      const listed = await keys(dataDir, "list");
      assert.match(listed.stdout, new RegExp(`^${id} +the optimizer +read +\\S+Z +(never|\\S+Z) +-$`, "m"));
      const all = (await keys(dataDir, "list", "--json")).stdout;
      assert.deepEqual(
        JSON.parse(all).keys.map((key: { id: string }) => key.id),
        [second.key.id, id],
      );
      assert.doesNotMatch(all + listed.stdout, new RegExp(`${secret}|hash|[0-9a-f]{64}`));

      const revoked = await keys(dataDir, "revoke", id);
      assert.deepEqual([revoked.code, revoked.stdout], [0, ""]);
      assert.match(revoked.stderr, new RegExp(`^revoked key ${id}, the optimizer \\(read\\)\n$`));
      if (url !== undefined) assert.equal(await statusFor(url, token.trim()), 401);
      const [, first] = JSON.parse((await keys(dataDir, "list", "--json")).stdout).keys;
      assert.notEqual(first.revoked_at, null);

      const none = await keys(dataDir, "revoke", "0123456789abcdef");
      assert.deepEqual([none.code, none.stdout], [1, ""]);
      assert.match(none.stderr, /not_found[\s\S]*there is no key 0123456789abcdef/);
    });
  });
}

test("the faults of a new key name its flags, and no key is made", async () => {
  const dataDir = join(await serviceFolder(), "data");
  const { code, stdout, stderr } = await keys(dataDir, "create", "--name", " ", "--scopes", "read,all");
  assert.deepEqual([code, stdout], [2, ""]);
  assert.match(stderr, /--name: must not be empty/);
  assert.match(stderr, /--scopes: must be one of read, write, admin, got "all"/);
  assert.deepEqual(JSON.parse((await keys(dataDir, "list", "--json")).stdout), { keys: [] });
});

async function opened(withService: boolean): Promise<{ dataDir: string; url?: string }> {
  if (!withService) return { dataDir: join(await serviceFolder({ isFirstStart: true }), "data") };
  const { dataDir, url }: Serving = await startServe({ env: { MUCAST_AUTH: "keys" } });
  return { dataDir, url };
}

async function statusFor(url: string, token: string): Promise<number> {
  const api = new Api(url, { authorization: `Bearer ${token}` });
  return (await api.ask("GET", "/v1/operations")).status;
}
