import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { CopiedPackage } from "./copied-package.testing.ts";
import { findEnvironment } from "./environment.ts";

const copied = CopiedPackage.forTests();

const OLD = { ml: "ml-0123456789abcdef", dl: "dl-0123456789abcdef", uv: "uv-fedcba9876543210" };
const MEGABYTE = 1_000_000;

beforeEach(() => mkdirSync(copied.environments, { recursive: true }));

const started: ReturnType<typeof spawn>[] = [];
afterEach(async () => {
  for (const child of started.splice(0)) {
    child.kill("SIGKILL");
    await once(child, "close");
  }
});

/** A program that runs until the test ends, from its first line of output on. */
async function run(command: string, args: readonly string[]): Promise<number> {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  started.push(child);
  await once(child.stdout, "data");
  return child.pid!;
}

/** An environment with a library of a megabyte, and a link to a folder, as those of uv have. */
function environment(name: string): string {
  const folder = join(copied.environments, name);
  mkdirSync(join(folder, "lib"), { recursive: true });
  mkdirSync(join(folder, "bin"));
  symlinkSync("lib", join(folder, "lib64"));
  writeFileSync(join(folder, "lib", "library.so"), randomBytes(MEGABYTE));
  return folder;
}

/** The lines of a prune. */
async function prune(named = "", path = "/nowhere"): Promise<string[]> {
  const lines =
    "(async () => { const lines = []; await m.pruneEnvironments((line) => lines.push(line)); return lines; })()";
  const { stdout, stderr } = await copied.evaluate(lines, path, named);
  return JSON.parse(stdout || stderr);
}

/** The name of the environment that the package would make. */
async function own(flavour: string): Promise<string> {
  return JSON.parse((await copied.evaluate(`m.environmentFolder("${flavour}")`, "/nowhere")).stdout);
}

describe("removing environments of other locks", { timeout: 600_000 }, () => {
  test("keeps its own environments and everything that is no environment", async () => {
    const kept = ["ml", "uv"];
    for (const flavour of kept) mkdirSync(await own(flavour));
    mkdirSync(join(copied.environments, "ml-backup"));
    writeFileSync(join(copied.environments, "notes.txt"), "");
    for (const name of Object.values(OLD)) environment(name);
    assert.deepEqual(await prune(), [
      "setup: removed dl-0123456789abcdef, which freed 1 MB",
      "setup: removed ml-0123456789abcdef, which freed 1 MB",
      "setup: removed uv-fedcba9876543210, which freed 1 MB",
    ]);
    const left = readdirSync(copied.environments).sort();
    assert.deepEqual(left.slice(0, 1), [".set-up-lock"]);
    assert.deepEqual(
      left.slice(1).map((name) => name.replace(/[0-9a-f]{16}$/, "")),
      ["ml-", "ml-backup", "notes.txt", "uv-"],
    );
  });

  test("keeps an environment whose interpreter or libraries a process uses, and the one of MUCAST_PYTHON", async () => {
    const interpreter = join(environment(OLD.ml), "bin", "python");
    symlinkSync(findEnvironment("ml").python, interpreter);
    const wait = "import sys; print(flush=True); sys.stdin.read()";
    const pid = await run(interpreter, ["-I", "-S", "-c", wait]);

    const library = join(environment(OLD.dl), "lib", "library.so");
    const map = `import mmap; f = open("${library}"); m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ); f.close(); ${wait}`;
    const reader = await run(findEnvironment("ml").python, ["-I", "-c", map]);

    const named = join(environment(OLD.uv), "bin", "python");
    assert.deepEqual(await prune(named), [
      `setup: kept ${OLD.dl}, which process ${reader} uses`,
      `setup: kept ${OLD.ml}, which process ${pid} uses`,
      `setup: kept ${OLD.uv}, which MUCAST_PYTHON uses`,
    ]);
    for (const name of Object.values(OLD)) assert.ok(existsSync(join(copied.environments, name)));
  });
});
