import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openPglite } from "./pglite.ts";

test("the database is its user's alone, also in a folder that everyone sees", async (t) => {
  const data = await mkdtemp(join(tmpdir(), "mucast-pglite-"));
  t.after(() => rm(data, { recursive: true }));
  await mkdir(join(data, "seen"));
  await chmod(join(data, "seen"), 0o755);
  const folder = join(data, "seen", "database");
  for (const before of ["made", "found"]) {
    const database = await openPglite(folder);
    await database.close();
    assert.equal((await stat(folder)).mode & 0o777, 0o700, before);
    await chmod(folder, 0o755);
  }
});
