import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { lockedPython } from "./locked-python.ts";

test("a separate environment is created once, and again if its Python is gone", (t) => {
  const base = mkdtempSync(join(tmpdir(), "mucast-locked-"));
  t.after(() => rmSync(base, { recursive: true, force: true }));
  const lock = join(base, "lock.txt");
  writeFileSync(lock, "# no package\n");
  const python = lockedPython("peer", lock, base);
  const kept = join(base, "peer", "kept.txt");
  writeFileSync(kept, "");
  assert.equal(lockedPython("peer", lock, base), python);
  assert.ok(existsSync(kept));

  rmSync(python);
  symlinkSync(join(base, "no-such-python"), python);
  lockedPython("peer", lock, base);
  assert.ok(!existsSync(kept));
  assert.equal(execFileSync(python, ["-c", "print('here')"], { encoding: "utf8" }), "here\n");
});
