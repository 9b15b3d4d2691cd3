import assert from "node:assert/strict";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { findEnvironment } from "./environment.ts";
import { installEnvironment } from "./install-environment.ts";
import { runCommand } from "./run-command.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** The package's modules, and Node's compiled cache of them. */
const installed = mkdtempSync(join(tmpdir(), "mucast-package-"));
before(() => copyPackage(join(installed, "package")));
after(() => rmSync(installed, { recursive: true }));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mucast-environment-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The parts of an installed package that find and install environments: no checkout, and no environment yet. */
function copyPackage(copy: string): void {
  cpSync(join(ROOT, "src/engine"), join(copy, "src/engine"), { recursive: true });
  cpSync(join(ROOT, "src/contract"), join(copy, "src/contract"), { recursive: true });
  cpSync(join(ROOT, "engine"), join(copy, "engine"), {
    recursive: true,
    filter: (path) => !/tests|cache/.test(relative(ROOT, path)),
  });
  writeFileSync(join(copy, "package.json"), '{"type": "module"}');
  mkdirSync(join(copy, "node_modules"));
  symlinkSync(realpathSync(join(ROOT, "node_modules/zod")), join(copy, "node_modules/zod"));
}

/** The printed value of `expression` over the copy's modules. Commands are searched for only on `path`. */
function inPackage(expression: string, path: string, named = "") {
  const engine = join(installed, "package/src/engine/environment");
  const modules = ["environment", "engine-status", "install-environment"].map((name) =>
    join(engine, `${name}.ts`),
  );
  const program = `
    Promise.all(${JSON.stringify(modules)}.map((path) => import(path)))
      .then(async (parts) => { const m = Object.assign({}, ...parts); console.log(JSON.stringify(await ${expression})); })
      .catch((error) => { console.log(error.code, error.message); });`;
  const env = {
    PATH: path,
    XDG_CACHE_HOME: join(folder, "cache"),
    HOME: folder,
    MUCAST_PYTHON: named,
    NODE_COMPILE_CACHE: join(installed, "compiled"),
  };
  return runCommand(process.execPath, ["--no-warnings", "-e", program], env);
}

const INSTALL = `m.installEnvironment({ flavour: "ml", report: () => undefined })`;

/** A fake interpreter that reports its version and does nothing else. */
function fakePython(name: string, minor: number, pip = true): string {
  const bin = join(folder, "bin");
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
      const { stdout } = await inPackage(`m.findEnvironment("${flavour}")`, "/nowhere");
      assert.match(stdout, /^engine_unavailable there is no Python environment at /);
      assert.ok(stdout.includes(`; \`${command}\` makes it`), stdout);
      assert.ok(stdout.includes(join(folder, "cache", "mucast", "env", `${flavour}-`)));
      assert.ok(!existsSync(join(folder, "cache")));
    });
  }

  test("MUCAST_PYTHON names the interpreter, and nothing is set up", async () => {
    const { stdout } = await inPackage(INSTALL, "/nowhere", "/opt/python");
    assert.deepEqual(JSON.parse(stdout), { python: "/opt/python" });
  });

  test("a relative MUCAST_PYTHON starts at the caller's folder, and a bare name is looked up in PATH", async () => {
    const relative = await inPackage(INSTALL, "/nowhere", "some/python");
    assert.match(JSON.parse(relative.stdout).python, /^\/.*\/some\/python$/);
    const bare = await inPackage(INSTALL, "/nowhere", "python3.12");
    assert.deepEqual(JSON.parse(bare.stdout), { python: "python3.12" });
  });

  test("the status without an environment says so", async () => {
    const { stdout } = await inPackage('m.engineStatus("ml")', "/nowhere");
    const { ready, lines } = JSON.parse(stdout);
    assert.equal(ready, false);
    assert.match(lines[0], /none: there is no Python environment/);
  });

  test("the status ignores what an interpreter's wrapper prints, and reports an interpreter that answers nothing", async () => {
    const wrapper = join(folder, "python");
    const status = async (commands: string) => {
      writeFileSync(wrapper, `#!/bin/sh\n${commands}\n`);
      chmodSync(wrapper, 0o755);
      return JSON.parse((await inPackage('m.engineStatus("ml")', "/nowhere", wrapper)).stdout);
    };
    const { python } = findEnvironment("ml");
    const { ready, lines } = await status(`printf 'printed {"python"'\n'${python}' "$@"\necho and this`);
    assert.equal(ready, true, lines.join("\n"));
    assert.match(lines[1], /^python {2}3\.\d+\.\d+$/);
    for (const commands of ["exit 0", "echo printed", `echo '{"python"'`]) {
      const silent = await status(commands);
      assert.equal(silent.ready, false);
      assert.match(silent.lines[1], /^missing: the interpreter printed no answer; `mucast setup`/);
    }
  });

  test("the status of an interpreter without the libraries names what is missing", async () => {
    const { python } = findEnvironment("ml");
    const bare = join(folder, "bare");
    assert.equal((await runCommand(python, ["-m", "venv", "--without-pip", bare])).code, 0);
    const { stdout } = await inPackage('m.engineStatus("ml")', "/nowhere", join(bare, "bin/python"));
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
      const { stdout } = await inPackage(INSTALL, path());
      assert.match(stdout.trim(), sentence);
      assert.equal(stdout.trim().split("\n").length, 1);
    });
  }

  test("is another one if python3 prints no answer, and its output is ignored", async () => {
    const bin = fakePython("python3.12", 12);
    for (const words of ["printed", '{"path"']) {
      writeFileSync(join(bin, "python3"), `#!/bin/sh\necho '${words}'\n`);
      chmodSync(join(bin, "python3"), 0o755);
      assert.match((await inPackage(INSTALL, bin)).stdout, /^engine_unavailable cannot lock /);
    }
  });

  test("is another one if python3 is too old", async () => {
    fakePython("python3", 9);
    const { stdout } = await inPackage(INSTALL, fakePython("python3.12", 12));
    // The fake cannot hold a lock, which shows that it was chosen.
    assert.match(stdout, /^engine_unavailable cannot lock /);
  });
});
