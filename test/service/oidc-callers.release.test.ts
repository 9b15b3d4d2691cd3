/** The owners of OIDC issuers' tokens, in a database from an older version and in one that two issuers share. */
import assert from "node:assert/strict";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { FakeIssuer } from "../../src/service/auth/fake-issuer.testing.ts";
import { spaceOf } from "../../src/service/blobs/blobs.ts";
import type { Database } from "../../src/service/database/database.ts";
import { openDatabase } from "../../src/service/database/open-database.ts";
import { MIGRATIONS } from "../../src/service/database/schema.ts";
import { Api, problemOf } from "./api.testing.ts";
import { DATABASES } from "./databases.testing.ts";
import { endServices, type Serving, serviceFolder, startServe } from "./service.testing.ts";

const BLOB = "feature_engine_old.json";
const OLD_SPACE = spaceOf("oidc:ann");

/** The migration that creates the table of the first issuer. An older version has those before it. */
const OWN_STEP = MIGRATIONS.findIndex((steps) => steps.some((step) => step.includes("first_oidc_issuer")));

/** Data from a service of an older version: an operation and a blob of `oidc:ann`, and no issuer. */
const OLD_ROWS = `
  insert into mucast.operations
    (id, caller, operation, feature_url, data_extractor_url, config, config_sha256, body_sha256, idempotency_key, status, finished_at)
  values
    ('old', 'oidc:ann', 'run_ml_job', '', '', '{}', '', '', 'once', 'Canceled', now());
  insert into mucast.blobs (name, caller, space, bytes) values ('${BLOB}', 'oidc:ann', '${OLD_SPACE}', 3);
  insert into mucast.blob_usage (caller, bytes, blobs) values ('oidc:ann', 3, 1)`;

/** Creates the tables of an older version in place of the new ones. */
async function makeOld(database: Database): Promise<void> {
  await database.exec(`
    drop schema mucast cascade; create schema mucast;
    create table mucast.migrations (version int primary key, applied_at timestamptz not null default now());
    insert into mucast.migrations (version) select * from generate_series(1, ${OWN_STEP})`);
  for (const step of MIGRATIONS.slice(0, OWN_STEP).flat()) await database.query(step);
  await database.exec(OLD_ROWS);
}

for (const database of DATABASES) {
  describe(`callers of OIDC issuers on ${database.name}`, { timeout: 600_000 }, () => {
    let folder: string;
    let blobs: string;
    let env: Readonly<Record<string, string>>;
    before(async () => {
      await database.begin();
      env = await database.env();
      folder = await serviceFolder({ isFirstStart: env.DATABASE_URL !== undefined });
      blobs = join(folder, "blobs");
      const old = await openDatabase({ databaseUrl: env.DATABASE_URL, dataDir: join(folder, "data") });
      await makeOld(old);
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
