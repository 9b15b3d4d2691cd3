import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { makeFolder } from "./folders.ts";

const root = mkdtempSync(join(tmpdir(), "mucast-folder-"));
after(() => rmSync(root, { recursive: true, force: true }));

test("a folder that has to be there is not made, nor what is above or below it", () => {
  const place = join(root, "away/blobs");
  for (const path of [place, join(place, "data"), join(place, "space/data")])
    assert.throws(() => makeFolder(path, 0o700, place), { code: "ENOENT" });
  assert.equal(existsSync(join(root, "away")), false);
  makeFolder(place);
  assert.equal(makeFolder(join(place, "space/data"), 0o700, place), join(place, "space"));
  assert.equal(makeFolder(place, 0o700, place), undefined);
});

test("makes what is missing, and tells the topmost of it", () => {
  assert.equal(makeFolder(join(root, "a/b/c"), 0o700), join(root, "a"));
  assert.equal(statSync(join(root, "a/b/c")).mode & 0o777, 0o700);
  assert.equal(makeFolder(join(root, "a/b/c")), undefined);
});

test("what cannot be made is an error, such as below a file", () => {
  writeFileSync(join(root, "file"), "");
  assert.throws(() => makeFolder(join(root, "file/x")), { code: "ENOTDIR" });
  assert.throws(() => makeFolder(join(root, "file")), { code: "EEXIST" });
});

// In a process of its own, which can be ended where it never returns.
test("a file system that makes none is an error, and not tried for ever", () => {
  const program = `import { makeFolder } from ${JSON.stringify(new URL("./folders.ts", import.meta.url))};
    for (const path of ["/proc/x", "/proc/x/y/z"])
      try { makeFolder(path); } catch ({ code }) { console.log(path, code); }`;
  const args = ["--input-type=module", "-e", program];
  const { stdout, signal } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 60_000 });
  assert.deepEqual([stdout, signal], ["/proc/x ENOENT\n/proc/x/y/z ENOENT\n", null]);
});
