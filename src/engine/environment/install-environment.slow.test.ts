import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { CopiedPackage } from "./copied-package.testing.ts";

const copied = CopiedPackage.forTests();

/** A fake interpreter that reports its version, and whose pip fails. */
function fakePython(name: string, minor: number, pip = true): string {
  const bin = join(copied.folder, "bin");
  const answer = { path: join(bin, name), version: `3.${minor}.1`, major: 3, minor, pip };
  return fakeProgram(name, `[ "$1" = -m ] && echo no index >&2 && exit 1; echo '${JSON.stringify(answer)}'`);
}

function fakeProgram(name: string, script: string): string {
  const bin = join(copied.folder, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(bin, name), 0o755);
  return bin;
}

/** What a set-up on a path of these programs prints and throws. */
async function install(path: string): Promise<string> {
  const expression = `m.installEnvironment({ flavour: "ml", report: (line) => console.log(line) })`;
  return (await copied.evaluate(expression, path)).stdout.trim();
}

describe("the Python for a new environment", () => {
  test("is named in one sentence if it is missing, old or has no pip", async () => {
    for (const [path, sentence] of [
      [
        () => "/nowhere",
        /^engine_unavailable mucast needs Python 3\.11 to 3\.14, and there is no python3 .*; install one$/,
      ],
      [() => fakePython("python3", 9), /there is only Python 3\.9\.1 at \S+python3 on the path/],
      [() => fakePython("python3", 12, false), /Python 3\.12\.1 at \S+ has no pip; install it/],
    ] as const) {
      const output = await install(path());
      assert.match(output, sentence);
      assert.equal(output.split("\n").length, 1);
    }
  });

  test("is another one if python3 is too old or prints no answer", async () => {
    const bin = fakePython("python3.12", 12);
    for (const script of [`echo '{"path"'`, `echo '{"path": "", "major": 3, "minor": 9, "pip": true}'`]) {
      fakeProgram("python3", script);
      const [step, failure] = (await install(bin)).split("\n");
      assert.equal(step, "setup: making the Python environment (ml) with Python 3.12.1 …");
      assert.match(
        failure!,
        /^engine_unavailable pip could not set up .* from requirements-uv\.txt: no index/,
      );
    }
  });
});

const SCRIPT = fileURLToPath(new URL("../../../test/engine/build-in-a-process.ts", import.meta.url));

/** A set-up in its own process, with its next word of output; undefined at its end. */
function setUp() {
  const child = spawn(process.execPath, [SCRIPT, copied.folder], { stdio: ["pipe", "pipe", "inherit"] });
  const words = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, says: async () => (await words.next()).value as string | undefined };
}

describe("a folder that is built", { timeout: 600_000 }, () => {
  const made = () => readdirSync(join(copied.folder, "made")).sort();

  test("appears once it is complete, replaces an incomplete one, and is built once by two processes", async () => {
    mkdirSync(join(copied.folder, "made"));
    writeFileSync(join(copied.folder, "made", "rest"), "");
    const first = setUp();
    assert.equal(await first.says(), "filling");
    assert.deepEqual(made(), ["rest"]);
    const second = setUp();
    const lock = join(copied.folder, ".set-up-lock");
    assert.equal(await second.says(), `setup: waiting for another set-up, which holds ${lock}`);
    first.child.stdin.end();
    assert.equal(await first.says(), "built");
    assert.deepEqual(made(), ["content", "mucast-environment.json"]);
    assert.equal(await second.says(), "found");
  });

  test("is built again after a killed first attempt, which leaves nothing behind", async () => {
    const killed = setUp();
    assert.equal(await killed.says(), "filling");
    killed.child.kill("SIGKILL");
    assert.equal(await killed.says(), undefined);
    const next = setUp();
    next.child.stdin.end();
    assert.deepEqual([await next.says(), await next.says()], ["filling", "built"]);
    assert.deepEqual(readdirSync(copied.folder).sort(), [".set-up-lock", "made"]);
  });
});
