import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runCommand } from "../process-output.ts";
import { CopiedPackage } from "./copied-package.testing.ts";
import { IMAGE_PYTHON } from "./engine-status.ts";
import { findEnvironment } from "./environment.ts";
import { installEnvironment } from "./install-environment.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

const copied = CopiedPackage.forTests();

const INSTALL = `m.installEnvironment({ flavour: "ml", report: () => undefined })`;

/** A fake interpreter that reports its version and does nothing else. */
function fakePython(name: string, minor: number, pip = true): string {
  const bin = join(copied.folder, "bin");
  mkdirSync(bin, { recursive: true });
  const answer = { path: join(bin, name), version: `3.${minor}.1`, major: 3, minor, pip };
  writeFileSync(join(bin, name), `#!/bin/sh\necho '${JSON.stringify(answer)}'\n`);
  chmodSync(join(bin, name), 0o755);
  return bin;
}

test("does not wait for a process that a command leaves behind", async () => {
  const { code, stdout } = await runCommand("/bin/sh", ["-c", "sleep 3600 & echo $!; exit 3"]);
  process.kill(Number(stdout), "SIGKILL");
  assert.equal(code, 3);
});

describe("in a checkout", () => {
  test("the environment is in the checkout, and set-up of an existing one prints and does nothing", async () => {
    const found = findEnvironment("ml");
    assert.ok(process.env.MUCAST_PYTHON || found.python.startsWith(join(ROOT, ".mucast", "env", "ml-")));
    const lines: string[] = [];
    assert.deepEqual(await installEnvironment({ flavour: "ml", report: (line) => lines.push(line) }), found);
    assert.deepEqual(lines, []);
  });
});

describe("in an installed package", () => {
  for (const [flavour, command] of [
    ["ml", "mucast setup"],
    ["dl", "mucast setup --dl"],
    ["ray", "mucast setup --ray"],
  ]) {
    test(`without an environment, a job of ${flavour} fails with the advice to run ${command} and downloads nothing`, async () => {
      const { stdout } = await copied.evaluate(`m.findEnvironment("${flavour}")`, "/nowhere");
      assert.match(stdout, /^engine_unavailable there is no Python environment at /);
      assert.ok(stdout.includes(`; \`${command}\` makes it`), stdout);
      assert.ok(stdout.includes(join(copied.environments, `${flavour}-`)));
      assert.ok(!existsSync(join(copied.folder, "cache")));
    });
  }

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

  test("MUCAST_PYTHON names the interpreter, and nothing is set up", async () => {
    const { stdout } = await copied.evaluate(INSTALL, "/nowhere", "/opt/python");
    assert.deepEqual(JSON.parse(stdout), { python: "/opt/python" });
  });

  test("a relative MUCAST_PYTHON starts at the caller's folder, and a bare name is looked up in PATH", async () => {
    const relative = await copied.evaluate(INSTALL, "/nowhere", "some/python");
    assert.match(JSON.parse(relative.stdout).python, /^\/.*\/some\/python$/);
    const bare = await copied.evaluate(INSTALL, "/nowhere", "python3.12");
    assert.deepEqual(JSON.parse(bare.stdout), { python: "python3.12" });
  });

  test("the status without an environment says so", async () => {
    const { stdout } = await copied.evaluate('m.engineStatus("ml")', "/nowhere");
    const { ready, lines } = JSON.parse(stdout);
    assert.equal(ready, false);
    assert.match(lines[0], /none: there is no Python environment/);
  });

  test("the status ignores what an interpreter's wrapper prints, and reports an interpreter that answers nothing", async () => {
    const wrapper = join(copied.folder, "python");
    const status = async (commands: string) => {
      writeFileSync(wrapper, `#!/bin/sh\n${commands}\n`);
      chmodSync(wrapper, 0o755);
      return JSON.parse((await copied.evaluate('m.engineStatus("ml")', "/nowhere", wrapper)).stdout);
    };
    const { python } = findEnvironment("ml");
    const { ready, lines } = await status(`printf 'printed {"python"'\n'${python}' "$@"\necho and this`);
    assert.equal(ready, true, lines.join("\n"));
    assert.match(lines[1], /^python {2}3\.\d+\.\d+$/);
    for (const commands of ["exit 0", "echo printed", `echo '{"python"'`]) {
      const silent = await status(commands);
      assert.equal(silent.ready, false);
      assert.match(
        silent.lines[1],
        /^missing: the interpreter printed no answer; install .* or unset MUCAST_PYTHON and run `mucast setup`$/,
      );
    }
  });

  test("the status in an image names the image that has what is missing", async () => {
    for (const [flavour, image] of [
      ["dl", "dl"],
      ["ray", "ray"],
    ]) {
      const expression = `m.engineStatus("${flavour}")`;
      const { stdout } = await copied.evaluate(expression, "/nowhere", IMAGE_PYTHON);
      assert.ok(
        JSON.parse(stdout).lines[1].includes(`; the image \`${image}\` of the Dockerfile has`),
        stdout,
      );
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

describe("the Python for a new environment", () => {
  const refused: [string, () => string, RegExp][] = [
    [
      "is missing",
      () => "/nowhere",
      /^engine_unavailable mucast needs Python 3\.11 to 3\.14, and there is no python3 on the path; install one$/,
    ],
    ["is old", () => fakePython("python3", 9), /there is only Python 3\.9\.1 at \S+python3 on the path/],
    ["is too new", () => fakePython("python3", 15), /there is only Python 3\.15\.1/],
    ["has no pip", () => fakePython("python3", 12, false), /Python 3\.12\.1 at \S+ has no pip; install it/],
  ];
  for (const [what, path, sentence] of refused) {
    test(`${what}: one sentence names what was found`, async () => {
      const { stdout } = await copied.evaluate(INSTALL, path());
      assert.match(stdout.trim(), sentence);
      assert.equal(stdout.trim().split("\n").length, 1);
    });
  }

  test("is another one if python3 prints no answer, and its output is ignored", async () => {
    const bin = fakePython("python3.12", 12);
    for (const words of ["printed", '{"path"']) {
      writeFileSync(join(bin, "python3"), `#!/bin/sh\necho '${words}'\n`);
      chmodSync(join(bin, "python3"), 0o755);
      assert.match((await copied.evaluate(INSTALL, bin)).stdout, /^engine_unavailable cannot lock /);
    }
  });

  test("is another one if python3 is too old", async () => {
    fakePython("python3", 9);
    const { stdout } = await copied.evaluate(INSTALL, fakePython("python3.12", 12));
    // The fake cannot hold a lock, which shows that it was chosen.
    assert.match(stdout, /^engine_unavailable cannot lock /);
  });
});
