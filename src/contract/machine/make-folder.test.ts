import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { makeFolder } from "./folders.ts";

const root = mkdtempSync(join(tmpdir(), "mucast-folder-"));
after(() => rmSync(root, { recursive: true, force: true }));

test("makes what is missing, and tells the topmost of it", () => {
  assert.equal(makeFolder(join(root, "a/b/c"), 0o700), join(root, "a"));
  assert.equal(statSync(join(root, "a/b/c")).mode & 0o777, 0o700);
  assert.equal(makeFolder(join(root, "a/b/c")), undefined);
});

test("what cannot be made is an error: a file above it, a file system that makes none", () => {
  writeFileSync(join(root, "file"), "");
  assert.throws(() => makeFolder(join(root, "file/x")), { code: "ENOTDIR" });
  assert.throws(() => makeFolder(join(root, "file")), { code: "EEXIST" });
  for (const path of ["/proc/x", "/proc/x/y/z"]) assert.throws(() => makeFolder(path), { code: "ENOENT" });
});
