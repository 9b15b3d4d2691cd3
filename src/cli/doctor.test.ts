import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { pythonWithoutTorch } from "../../test/engine/python-without-torch.ts";
import { findEnvironment } from "../engine/environment/environment.ts";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mucast-doctor-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function doctor(env: NodeJS.ProcessEnv = {}) {
  return spawnSync(process.execPath, [MAIN, "doctor"], {
    env: { ...process.env, ...env },
    encoding: "utf8",
  });
}

const LIBRARIES = {
  ml: ["numpy", "scipy", "scikit-learn", "xgboost", "lightgbm", "catboost"],
  dl: ["numpy", "scipy", "scikit-learn", "torch"],
} as const;

test("where both environments are, both jobs are ready, and the interpreter and the libraries of each are named", () => {
  const { status, stdout, stderr } = doctor();
  assert.equal(status, 0, stderr);
  const [, classical, networks] = stdout.split("\n\n");
  assert.match(classical!, /^run_ml_job, classical models: ready\n/);
  assert.match(networks!, /^run_dl_job, networks: ready\n/);
  for (const [flavour, text] of [
    ["ml", classical!],
    ["dl", networks!],
  ] as const) {
    assert.ok(text.includes(findEnvironment(flavour).python), text);
    for (const name of LIBRARIES[flavour]) assert.match(text, new RegExp(`^ +${name} \\d`, "m"));
    assert.equal(/CUDA devices: (none|cuda:0 .+)/.test(text), flavour === "dl");
  }
});

test("doctor names the command that installs a missing torch, which is no failure", () => {
  const { status, stdout } = doctor({ MUCAST_PYTHON: pythonWithoutTorch(folder) });
  assert.equal(status, 0);
  assert.match(stdout, /run_ml_job, classical models: ready/);
  assert.match(
    stdout,
    /run_dl_job, networks: not ready.*missing: torch: .*torch.*; `mucast setup --dl` installs/s,
  );
});

test("where run_ml_job cannot run the exit code is 4", () => {
  const { status, stdout } = doctor({ MUCAST_PYTHON: join(folder, "nothing") });
  assert.equal(status, 4);
  assert.match(
    stdout,
    /run_ml_job, classical models: not ready\n.*nothing.*missing: .*; `mucast setup` installs/s,
  );
});
