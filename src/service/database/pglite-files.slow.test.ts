import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { PGlite } from "@electric-sql/pglite";
import { copyNewDatabase } from "../../../test/servers/database-template.testing.ts";
import { DatabaseFiles } from "./pglite-instance.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-pglite-files-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("files that could not be opened count for nothing, and one that could not be made can be made later", async (t) => {
  await copyNewDatabase(folder);
  const root = join(folder, "database");
  const lite = await PGlite.create({ fs: new DatabaseFiles(root) });
  t.after(() => lite.close());
  const { FS } = lite.Module;
  const at = (name: string) => `${PGlite.paths.PGDATA}/${name}`;
  FS.writeFile(at("gone"), "");
  rmSync(join(root, "gone"));
  // More than the 4,096 files that Emscripten opens at once.
  for (let i = 0; i < 4_200; i++) assert.throws(() => FS.open(at("gone"), "r"), { errno: 44 });
  FS.mkdir(at("folder"));
  rmSync(join(root, "folder"), { recursive: true });
  writeFileSync(join(root, "folder"), "in the way");
  for (let i = 0; i < 2; i++) assert.throws(() => FS.mkdir(at("folder/made")), { errno: 54 });
  rmSync(join(root, "folder"));
  mkdirSync(join(root, "folder"));
  FS.mkdir(at("folder/made"));
  assert.ok(existsSync(join(root, "folder/made")));
});
