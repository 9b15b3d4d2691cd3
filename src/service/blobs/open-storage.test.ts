import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openBlobFolder } from "./open-storage.ts";

const root = mkdtempSync(join(tmpdir(), "mucast-blob-folder-"));
after(() => rmSync(root, { recursive: true, force: true }));

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

test("a blob folder in the data folder is closed to other users, and an operator's own keeps its rights", async () => {
  for (const name of ["blobs", "elsewhere"]) {
    mkdirSync(join(root, name), { mode: 0o755 });
    await openBlobFolder(join(root, name), root);
  }
  assert.deepEqual([modeOf(join(root, "blobs")), modeOf(join(root, "elsewhere"))], ["700", "755"]);
});

test("a missing folder is made, and one that cannot be made is refused", async () => {
  await openBlobFolder(join(root, "new/blobs"), join(root, "new"));
  assert.equal(modeOf(join(root, "new/blobs")), "700");
  await assert.rejects(openBlobFolder("/proc/x", root), {
    code: "output_failed",
    message: /the blobs, \/proc\/x,/,
  });
});
