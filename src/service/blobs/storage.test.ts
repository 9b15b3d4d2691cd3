import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { checkSpace, spaceIn } from "../../blob/names.ts";
import { openBlobFolder, spaceOf } from "./storage.ts";

const SPACE = "key-0123456789abcdef";

test("no two subjects share a space, even without regard to letter case", () => {
  const odd = ["..", "../../etc", "a/b", "A", "a", "", " ", "a ", "é", "e\u0301", "\ud800", "\ud801", "\0"];
  const subjects = [
    ...["local", "key:0123456789abcdef", "key:0123456789abcdeF", "key:0123456789ABCDEF"],
    ...odd.flatMap((text) => [`oidc:${text}`, `key:${text}`]),
    ...["oidc:key:0123456789abcdef", "oidc:local"],
    ...[`oidc:${"x".repeat(100_000)}`, `oidc:${"x".repeat(100_001)}`],
  ];
  const spaces = subjects.map(spaceOf);
  assert.equal(new Set(spaces.map((space) => space.toLowerCase())).size, subjects.length);
  for (const space of spaces) {
    assert.match(space, /^[a-z0-9-]{0,68}$/);
    assert.equal(checkSpace(space), space);
  }
  assert.deepEqual([spaceOf("local"), spaceOf("key:0123456789abcdef")], ["", SPACE]);
});

test("only the space of a caller counts as a space", () => {
  const others = ["..", "../x", "data", "key-0123", "KEY-0123456789abcdef", "sub-x", `${SPACE}2`];
  for (const path of others) {
    assert.equal(spaceIn(`${path}/data/x`), undefined, path);
    assert.throws(() => checkSpace(path), /is not the space of a caller/, path);
  }
});

const root = mkdtempSync(join(tmpdir(), "mucast-blob-folder-"));
after(() => rmSync(root, { recursive: true, force: true }));

test("a blob folder in the data folder is closed to others, one elsewhere keeps its rights, and a missing one is made", async () => {
  for (const name of ["blobs", "elsewhere"]) mkdirSync(join(root, name), { mode: 0o755 });
  for (const [path, dataDir, mode] of [
    ["blobs", "", 0o700],
    ["elsewhere", "", 0o755],
    ["new/blobs", "new", 0o700],
  ] as const) {
    await openBlobFolder(join(root, path), join(root, dataDir));
    assert.equal(statSync(join(root, path)).mode & 0o777, mode, path);
  }
  await assert.rejects(openBlobFolder("/proc/x", root), {
    code: "output_failed",
    message: /the blobs, \/proc\/x,/,
  });
});
