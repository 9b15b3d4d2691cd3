/** `mucast db status` and `mucast db migrate`, and what a service logs about a migration. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { VERSION } from "../../src/service/database/schema.ts";
import { mucast } from "../end-to-end/commands/command.ts";
import { startPostgres } from "../servers/postgres.testing.ts";
import { endServices } from "./service.testing.ts";

after(endServices);

test("a database in PostgreSQL is shown and migrated before a service uses it", async () => {
  const postgres = await startPostgres();
  const url = await postgres.newDatabase();
  const { pathname, host } = new URL(url);
  const name = `PostgreSQL database ${pathname.slice(1)} on ${host}`;
  const db = async (word: string) => (await mucast(["db", word], { env: { DATABASE_URL: url } })).stdout;
  assert.match(await db("status"), /version 0; .*\nThe database is new\. The service creates its tables/);
  assert.match(await db("migrate"), new RegExp(`^Migrated the ${name} from version 0 to ${VERSION} `));
  const current = `${name}, version ${VERSION}; this mucast has version ${VERSION}\nNothing to migrate.\n`;
  assert.equal(await db("status"), current);
  await postgres.stop();
});
