/** The owners of OIDC issuers' tokens, in a database from an older version and in one that two issuers share. */
import assert from "node:assert/strict";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { FakeIssuer } from "../../src/service/auth/fake-issuer.testing.ts";
import { spaceOf } from "../../src/service/blobs/storage.ts";
import { type Database, openDatabase } from "../../src/service/database/database.ts";
import { newRow } from "../../src/service/database/databases.testing.ts";
import { Api, problemOf } from "./api.testing.ts";
import { DATABASES } from "./databases.testing.ts";
import { endServices, type Serving, serviceFolder, startServe } from "./service.testing.ts";

const BLOB = "feature_engine_old.json";
const OLD_SPACE = spaceOf("oidc:ann");

/** Rows of a service that knew no issuer: an operation and a blob of `oidc:ann`. */
async function storeOld(database: Database): Promise<void> {
  const caller = "oidc:ann";
  await database.write(async (db) => {
    const row = { ...newRow("old", caller), status: "Canceled", finished_at: new Date() } as const;
    await db.insertInto("operations").values(row).execute();
    await db.insertInto("blobs").values({ name: BLOB, caller, space: OLD_SPACE, bytes: 3 }).execute();
    await db.insertInto("blob_usage").values({ caller, bytes: 3, blobs: 1 }).execute();
  });
}

for (const database of DATABASES) {
  describe(`callers of OIDC issuers on ${database.name}`, { timeout: 600_000 }, () => {
    let folder: string;
    let blobs: string;
    let env: Readonly<Record<string, string>>;
    before(async () => {
      await database.begin();
      env = await database.env();
      folder = await serviceFolder();
      blobs = join(folder, "blobs");
      const old = await openDatabase({ data_dir: join(folder, "data"), database_url: env.DATABASE_URL });
      await storeOld(old);
      await old.close();
      await mkdir(join(blobs, OLD_SPACE, "data"), { recursive: true });
      await writeFile(join(blobs, OLD_SPACE, "data", BLOB), "old");
    });
    after(async () => {
      await endServices();
      await database.end();
    });

    const serve = (issuer: FakeIssuer, more: Readonly<Record<string, string>> = {}) =>
      startServe({
        folder,
        env: {
          ...env,
          ...{ BLOB_URL: blobs, MUCAST_AUTH: "oidc", MUCAST_OIDC_AUDIENCE: "mucast" },
          ...{ MUCAST_OIDC_ISSUER: issuer.url, ...more },
        },
      });

    async function apiOf(serving: Serving, issuer: FakeIssuer, sub = "ann"): Promise<Api> {
      return new Api(serving.url, { authorization: `Bearer ${await issuer.token({ sub })}` });
    }

    async function operationsOf(api: Api): Promise<string[]> {
      return (await api.list()).operations.map(({ id }) => id);
    }

    test("keep the rows and blobs of an older version, and share none with the same sub of another issuer", async (t) => {
      const [issuer, other] = [await FakeIssuer.start(t), await FakeIssuer.start(t)];

      const first = await serve(issuer);
      const ann = await apiOf(first, issuer);
      assert.deepEqual(await operationsOf(ann), ["old"]);
      assert.equal((await ann.get("old")).status, "Canceled");
      assert.equal((await ann.ask("GET", `/data/${BLOB}`)).text, "old");
      assert.equal((await ann.put(BLOB, "new")).status, 200, "it is replaced where it was");
      assert.equal(await readFile(join(blobs, OLD_SPACE, "data", BLOB), "utf8"), "new");
      const ben = await apiOf(first, issuer, "ben");
      assert.deepEqual(await operationsOf(ben), []);
      problemOf(await ben.ask("GET", `/data/${BLOB}`), 404, "not_found");
      await first.terminate();

      const second = await serve(other);
      const namesake = await apiOf(second, other);
      assert.deepEqual(await operationsOf(namesake), []);
      problemOf(await namesake.ask("GET", "/v1/operations/old"), 404, "not_found");
      problemOf(await namesake.ask("GET", `/data/${BLOB}`), 404, "not_found");
      assert.equal((await namesake.put(BLOB, "hers")).status, 201);
      assert.equal(await readFile(join(blobs, OLD_SPACE, "data", BLOB), "utf8"), "new");
      assert.equal((await readdir(blobs)).filter((name) => name.startsWith("sub-")).length, 2);
      assert.match(second.logs(), /set oidc_former_issuer/);
      await second.terminate();

      const moved = await serve(other, { MUCAST_OIDC_FORMER_ISSUER: issuer.url });
      const same = await apiOf(moved, other);
      assert.deepEqual(await operationsOf(same), ["old"]);
      assert.equal((await same.ask("GET", `/data/${BLOB}`)).text, "new");
      assert.doesNotMatch(moved.logs(), /oidc_former_issuer/);
    });
  });
}
