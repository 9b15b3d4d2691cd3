import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { copyNewDatabase } from "../../../test/servers/database-template.testing.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { openPglite } from "./pglite.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-pglite-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("a folder whose database is gone is refused, not made anew", async () => {
  const emptied = join(folder, "database");
  mkdirSync(emptied);
  await assert.rejects(
    openPglite(emptied),
    (error) =>
      error instanceof MucastError && error.code === "unavailable" && error.message.includes(emptied),
  );
});

test("statements from before the close still run", async () => {
  const dataDir = join(folder, "closed");
  await copyNewDatabase(dataDir);
  chmodSync(join(dataDir, "database"), 0o755);
  const database = await openPglite(join(dataDir, "database"));
  assert.equal(statSync(join(dataDir, "database")).mode & 0o777, 0o700, "its owner's alone");
  const answers = [1, 2, 3].map((n) => database.query<{ n: number }>("select $1::int as n", [n]));
  await database.close();
  assert.deepEqual(
    (await Promise.all(answers)).map(({ rows }) => rows[0]!.n),
    [1, 2, 3],
  );
});
