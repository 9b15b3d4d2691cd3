import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { makeFolder, userFolder } from "./folders.ts";

const root = mkdtempSync(join(tmpdir(), "mucast-folder-"));
after(() => rmSync(root, { recursive: true, force: true }));

test("makeFolder does not create a missing `root`, nor a folder above or below it", () => {
  const store = join(root, "away/blobs");
  for (const path of [store, join(store, "data"), join(store, "space/data")])
    assert.throws(() => makeFolder(path, 0o700, store), { code: "ENOENT" });
  assert.equal(existsSync(join(root, "away")), false);
  makeFolder(store);
  assert.equal(makeFolder(join(store, "space/data"), 0o700, store), join(store, "space"));
  assert.equal(makeFolder(store, 0o700, store), undefined);
});

test("makeFolder creates missing folders, and returns the topmost of them", () => {
  assert.equal(makeFolder(join(root, "a/b/c"), 0o700), join(root, "a"));
  assert.equal(statSync(join(root, "a/b/c")).mode & 0o777, 0o700);
  assert.equal(makeFolder(join(root, "a/b/c")), undefined);
});

const listed = () => "/listed";

test("prefers the variable to HOME, and HOME to the list of users; ignores a relative path", () => {
  const of = (env: NodeJS.ProcessEnv) => userFolder("XDG_CACHE_HOME", env, listed);
  assert.equal(of({ XDG_CACHE_HOME: "/c", HOME: "/h" }), "/c");
  assert.equal(of({ HOME: "/h" }), "/h/.cache");
  for (const none of [{}, { HOME: "" }, { HOME: "here", XDG_CACHE_HOME: "." }])
    assert.equal(of(none), "/listed/.cache");
});

test("without any home, the error names what to set", () => {
  assert.throws(() => userFolder("XDG_DATA_HOME", { HOME: "" }, () => ""), {
    code: "invalid_request",
    message: /HOME .*--data-dir/,
  });
});
