import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

const base = mkdtempSync(join(tmpdir(), "mucast-obstacle-"));
after(() => rmSync(base, { recursive: true }));

/** Runs a command with `$BASE` on a read-only file system. */
const READ_ONLY = ["--mount", "sh", "-c", 'mount -t tmpfs -o ro none "$BASE" && exec "$@"', "sh"];
const env = { ...process.env, BASE: base };
const NAMESPACE = [[], ["--user", "--map-root-user"]].find(
  (flags) => spawnSync("unshare", [...flags, ...READ_ONLY, "true"], { env }).status === 0,
);

test("for a folder on a read-only file system, the error of its file says so", {
  skip: NAMESPACE === undefined && "no file system can be mounted here",
}, () => {
  const program = `import { stageFile } from ${JSON.stringify(new URL("./staged-file.ts", import.meta.url))};
    const folder = process.env.BASE + "/new/data";
    try { await stageFile(folder, "a.json", "{}") } catch ({ code, message }) { console.log(code, message) }`;
  const node = [process.execPath, "--input-type=module", "-e", program];
  const { stdout } = spawnSync("unshare", [...NAMESPACE!, ...READ_ONLY, ...node], { env, encoding: "utf8" });
  assert.equal(
    stdout,
    `output_failed ${base}/new/data/a.json could not be written: the file system is read-only (EROFS)\n`,
  );
});
