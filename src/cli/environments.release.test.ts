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

function doctor(env: NodeJS.ProcessEnv = {}, ...options: string[]) {
  return spawnSync(process.execPath, [MAIN, "doctor", ...options], {
    env: { ...process.env, ...env },
    encoding: "utf8",
  });
}

const LIBRARIES = {
  ml: ["numpy", "scipy", "scikit-learn", "xgboost", "lightgbm", "catboost"],
  dl: ["numpy", "scipy", "scikit-learn", "torch"],
  ray: ["numpy", "scipy", "scikit-learn", "xgboost", "lightgbm", "catboost", "torch", "ray"],
} as const;

test("with all environments, jobs here and on a cluster are ready, and each interpreter and its libraries are named", () => {
  const { status, stdout, stderr } = doctor();
  assert.equal(status, 0, stderr);
  const [, classical, networks, cluster] = stdout.split("\n\n");
  assert.match(classical!, /^run_ml_job, classical models: ready\n/);
  assert.match(networks!, /^run_dl_job, networks: ready\n/);
  assert.match(cluster!, /^jobs on a Ray cluster: ready\n/);
  for (const [flavour, text] of [
    ["ml", classical!],
    ["dl", networks!],
    ["ray", cluster!],
  ] as const) {
    assert.ok(text.includes(findEnvironment(flavour).python), text);
    for (const name of LIBRARIES[flavour]) assert.match(text, new RegExp(`^ +${name} \\d`, "m"));
    assert.equal(/CUDA devices: (none|cuda:0 .+)/.test(text), flavour !== "ml");
  }
});

test("doctor says how to install a missing torch in the interpreter of MUCAST_PYTHON, which is not a failure", () => {
  const { status, stdout } = doctor({ MUCAST_PYTHON: pythonWithoutTorch(folder) });
  assert.equal(status, 0);
  assert.match(stdout, /run_ml_job, classical models: ready/);
  assert.match(
    stdout,
    /run_dl_job, networks: not ready.*missing: torch: .*torch.*; install .* or unset MUCAST_PYTHON and run `mucast setup --dl`/s,
  );
  assert.doesNotMatch(stdout, /Ray/, "what was neither made nor asked for");
});

test("the exit code is 4 if run_ml_job cannot run", () => {
  const { status, stdout } = doctor({ MUCAST_PYTHON: join(folder, "nothing") }, "--ray");
  assert.equal(status, 4);
  assert.match(
    stdout,
    /run_ml_job, classical models: not ready\n.*nothing.*missing: .*; install .* and run `mucast setup`\n/s,
  );
  assert.match(
    stdout,
    /jobs on a Ray cluster: not ready\n.*nothing.*missing: .*; install .* and run `mucast setup --ray`\n/s,
  );
});
