import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** A checkout without any Python environment, whose packages are installed. */
function copyCheckout(): string {
  const copy = mkdtempSync(join(tmpdir(), "mucast-checkout-"));
  for (const part of ["scripts", "src/engine", "src/contract", "engine", "package.json", "tsconfig.json"]) {
    const filter = (path: string) => !/tests|cache/.test(relative(ROOT, path));
    cpSync(join(ROOT, part), join(copy, part), { recursive: true, filter });
  }
  const lock = readFileSync(join(ROOT, "package-lock.json"));
  writeFileSync(join(copy, "package-lock.json"), lock);
  mkdirSync(join(copy, "node_modules"));
  symlinkSync(realpathSync(join(ROOT, "node_modules/zod")), join(copy, "node_modules/zod"));
  const digest = createHash("sha256").update(lock).digest("hex");
  writeFileSync(join(copy, `node_modules/.setup-stamp-${digest}`), "");
  return copy;
}

/** Makes an environment that looks complete. */
function leaveEnvironment(copy: string, name: string): void {
  const lock = readFileSync(join(copy, `engine/requirements-${name}.txt`));
  const digest = createHash("sha256").update(lock).digest("hex").slice(0, 16);
  const folder = join(copy, `.mucast/env/${name}-${digest}`);
  mkdirSync(join(folder, "bin"), { recursive: true });
  for (const file of ["bin/python", "mucast-environment.json"]) writeFileSync(join(folder, file), "");
}

test("run_dl_job of a checkout uses a ready environment for CPUs, and otherwise needs the one with CUDA", (t) => {
  const copy = copyCheckout();
  t.after(() => rmSync(copy, { recursive: true, force: true }));
  const run = () =>
    spawnSync(process.execPath, ["scripts/setup.mjs", "--for", "src/cli/main.ts", "run_dl_job"], {
      cwd: copy,
      // Without a Python, so that no environment can be made.
      env: { PATH: "/nowhere", HOME: copy },
      encoding: "utf8",
    });
  const none = run();
  assert.equal(none.status, 4);
  assert.match(none.stderr, /there is no python3 on the path/);
  leaveEnvironment(copy, "dl-cpu");
  const ready = run();
  assert.deepEqual([ready.status, ready.stdout, ready.stderr], [0, process.execPath, ""]);
});
