/** `mucast db status` and `mucast db migrate`, and what a service logs about a migration, on both databases. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { VERSION } from "../../src/service/database/schema.ts";
import { mucast } from "../end-to-end/commands/command.ts";
import { DATABASES } from "./databases.testing.ts";
import { endServices, serviceFolder, startServe } from "./service.testing.ts";

after(endServices);

for (const database of DATABASES) {
  test(`the database is shown and migrated beside a running service: ${database.name}`, async () => {
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
      if (env.DATABASE_URL !== undefined) {
        assert.match(
          (await db("status")).stdout,
          /version 0; .*\nThe database is new\. The service creates its tables/,
        );
        assert.match(
          (await db("migrate")).stdout,
          new RegExp(`^Migrated the ${name} from version 0 to ${VERSION} `),
        );
      }
      const service = await startServe({ folder, env });
      const line = service
        .logs()
        .split("\n")
        .find((each) => each.includes("migrated the database"));
      assert.equal(line === undefined, env.DATABASE_URL !== undefined);
      const current = await db("status");
      assert.deepEqual([current.code, current.stderr], [0, ""]);
      assert.equal(
        current.stdout,
        `${name}, version ${VERSION}; this mucast has version ${VERSION}\nNothing to migrate.\n`,
      );
      assert.equal((await db("migrate")).stdout, `Nothing to migrate in the ${name}.\n`);
      assert.equal((await db("orphans")).stderr, `No orphaned blobs according to the ${name}.\n`);
      await service.terminate();
    } finally {
      await database.end();
    }
  });
}

test("a folder without a database is refused", async () => {
  const none = await mucast(["db", "migrate", "--data-dir", await serviceFolder()]);
  assert.deepEqual([none.code, none.stdout], [2, ""]);
  assert.match(none.stderr, /there is no \S+\/mucast\.db/);
});
