import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runCommand } from "../process-output.ts";
import { CopiedPackage } from "./copied-package.testing.ts";
import { findEnvironment } from "./environment.ts";
import { installEnvironment } from "./install-environment.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

const copied = CopiedPackage.forTests();

test("does not wait for a process that a command leaves behind", async () => {
  const { code, stdout } = await runCommand("/bin/sh", ["-c", "sleep 3600 & echo $!; exit 3"]);
  process.kill(Number(stdout), "SIGKILL");
  assert.equal(code, 3);
});

test("the environment of a checkout is in it, and set-up of an existing one prints and does nothing", async () => {
  const found = findEnvironment("ml");
  assert.ok(process.env.MUCAST_PYTHON || found.python.startsWith(join(ROOT, ".mucast", "env", "ml-")));
  const lines: string[] = [];
  assert.deepEqual(await installEnvironment({ flavour: "ml", report: (line) => lines.push(line) }), found);
  assert.deepEqual(lines, []);
});

describe("in an installed package", () => {
  test("without an environment, a job fails with the advice to run set-up and downloads nothing", async () => {
    const { stdout } = await copied.evaluate('m.findEnvironment("dl")', "/nowhere");
    assert.match(stdout, /^engine_unavailable there is no Python environment at /);
    assert.ok(stdout.includes("; `mucast setup --dl` makes it"), stdout);
    assert.ok(stdout.includes(join(copied.environments, "dl-")));
    assert.ok(!existsSync(join(copied.folder, "cache")));
    const status = await copied.evaluate('m.engineStatus("ml")', "/nowhere");
    assert.match(JSON.parse(status.stdout).lines[0], /none: there is no Python environment/);
  });

  test("networks use the environment for CPUs only if the one with CUDA is not installed", async () => {
    for (const flavour of ["dl-cpu", "dl"]) {
      const own = JSON.parse((await copied.evaluate(`m.environmentFolder("${flavour}")`, "/nowhere")).stdout);
      mkdirSync(join(own, "bin"), { recursive: true });
      writeFileSync(join(own, "bin", "python"), "");
      writeFileSync(join(own, "mucast-environment.json"), "{}");
      const { stdout } = await copied.evaluate('m.findEnvironment("dl")', "/nowhere");
      assert.deepEqual(JSON.parse(stdout), { python: join(own, "bin", "python") });
    }
  });

  test("MUCAST_PYTHON names the interpreter, from the caller's folder or in PATH, and nothing is set up", async () => {
    for (const [named, python] of [
      ["/opt/python", "/opt/python"],
      ["some/python", resolve("some/python")],
      ["python3.12", "python3.12"],
    ] as const) {
      const { stdout } = await copied.evaluate(`m.installEnvironment({ flavour: "ml" })`, "/nowhere", named);
      assert.deepEqual(JSON.parse(stdout), { python });
    }
  });

  test("the status of an interpreter without the libraries names what is missing", async () => {
    const { python } = findEnvironment("ml");
    const bare = join(copied.folder, "bare");
    assert.equal((await runCommand(python, ["-m", "venv", "--without-pip", bare])).code, 0);
    const { stdout } = await copied.evaluate('m.engineStatus("ml")', "/nowhere", join(bare, "bin/python"));
    const { ready, lines } = JSON.parse(stdout);
    assert.equal(ready, false);
    assert.match(lines.join("\n"), /missing: .*numpy/);
  });
});
