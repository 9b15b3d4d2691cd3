/** `mucast db status` and `mucast db migrate`, and what a service logs about a migration, on both databases. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { openUnmigrated } from "../../src/service/database/open-database.ts";
import { MIGRATIONS, migrate } from "../../src/service/database/schema.ts";
import { mucast } from "../end-to-end/commands/command.ts";
import { DATABASES } from "./databases.testing.ts";
import { endServices, serviceFolder, startServe } from "./service.testing.ts";

after(endServices);

const KNOWN = MIGRATIONS.length;

/** The line of a log with this message. */
function lineWith(logs: string, msg: string): Record<string, unknown> {
  const lines = logs.split("\n").filter((line) => line.startsWith("{"));
  return lines.map((line) => JSON.parse(line)).find((line) => line.msg === msg);
}

for (const database of DATABASES) {
  test(`an older database is shown, then migrated by hand or by a service: ${database.name}`, async () => {
    await database.begin();
    try {
      const folder = await serviceFolder();
      const dataDir = join(folder, "data");
      const env = await database.env();
      const { pathname, host } = new URL(env.DATABASE_URL ?? "none:");
      const name =
        env.DATABASE_URL === undefined
          ? `embedded database in ${dataDir}`
          : `PostgreSQL database ${pathname.slice(1)} on ${host}`;
      const db = (word: string) => mucast(["db", word, "--data-dir", dataDir], { env });
      // It also creates the data folder.
      const first = await startServe({ folder, env });
      assert.deepEqual(await first.terminate(), { code: 0, signal: null });
      const current = await db("status");
      assert.deepEqual([current.code, current.stderr], [0, ""]);
      assert.match(
        current.stdout,
        new RegExp(`^${name}, version ${KNOWN}; this mucast has version ${KNOWN}\nNothing to migrate\\.\n$`),
      );
      assert.match((await db("migrate")).stdout, new RegExp(`^Nothing to migrate in the ${name}\\.\n$`));
      assert.match(
        (await db("orphans")).stderr,
        new RegExp(`^No orphaned blobs according to the ${name}\\.\n$`),
      );

      const makeNew = await openUnmigrated({ databaseUrl: env.DATABASE_URL, dataDir });
      await makeNew.exec("drop schema mucast cascade; create schema mucast");
      await makeNew.close();
      assert.match(
        (await db("status")).stdout,
        /version 0; .*\nThe database is new\. The service creates its tables when it starts, /,
      );
      assert.match((await db("migrate")).stdout, /from version 0 /);

      const makeOlder = async () => {
        const opened = await openUnmigrated({ databaseUrl: env.DATABASE_URL, dataDir });
        await opened.exec("drop schema mucast cascade; create schema mucast");
        await migrate(opened, KNOWN - 2);
        await opened.close();
      };
      await makeOlder();
      const older = await db("status");
      assert.match(older.stdout, new RegExp(`version ${KNOWN - 2}; .*\n2 steps to apply, `));
      const migrated = await db("migrate");
      assert.match(
        migrated.stdout,
        new RegExp(`^Migrated the ${name} from version ${KNOWN - 2} to ${KNOWN} in [\\d.]+ s\\.\n$`),
      );
      await makeOlder();
      const second = await startServe({ folder, env });
      const { from, to } = lineWith(second.logs(), "migrated the database");
      assert.deepEqual({ from, to }, { from: KNOWN - 2, to: KNOWN });
      await second.terminate();
      assert.match((await db("status")).stdout, /Nothing to migrate/);
    } finally {
      await database.end();
    }
  });
}

test("a folder without a database, and a folder that a service has open, are refused", async () => {
  const folder = await serviceFolder();
  const serving = await startServe({ folder });
  const open = await mucast(["db", "status", "--data-dir", join(folder, "data")]);
  assert.deepEqual([open.code, open.stdout], [3, ""]);
  assert.match(open.stderr, new RegExp(`in use by process ${serving.pid} `));
  const none = await mucast(["db", "migrate", "--data-dir", folder]);
  assert.deepEqual([none.code, none.stdout], [2, ""]);
  assert.match(none.stderr, /there is no \S+\/database/);
});
