import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { afterEach, beforeEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

const SCRIPT = fileURLToPath(new URL("../../../test/engine/build-in-a-process.ts", import.meta.url));

/** A set-up in its own process, with its output. */
class SetUp {
  readonly process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #words: AsyncIterator<string>;

  constructor(parent: string) {
    this.process = spawn(process.execPath, [SCRIPT, parent], { stdio: ["pipe", "pipe", "inherit"] });
    this.#words = createInterface({ input: this.process.stdout })[Symbol.asyncIterator]();
  }

  /** Its next word; undefined at its end. */
  async says(): Promise<string | undefined> {
    return (await this.#words.next()).value;
  }

  goOn(): void {
    this.process.stdin.end();
  }
}

let parent: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "mucast-build-"));
});
afterEach(() => rmSync(parent, { recursive: true }));

describe("a folder that is built", { timeout: 600_000 }, () => {
  test("appears once it is complete, and is found from then on", async () => {
    const first = new SetUp(parent);
    assert.equal(await first.says(), "filling");
    assert.ok(!readdirSync(parent).includes("made"));
    first.goOn();
    assert.equal(await first.says(), "built");
    assert.deepEqual(readdirSync(join(parent, "made")).sort(), ["content", "mucast-environment.json"]);
    assert.equal(await new SetUp(parent).says(), "found");
  });

  test("is built again after a killed first attempt, which leaves nothing behind", async () => {
    const killed = new SetUp(parent);
    assert.equal(await killed.says(), "filling");
    killed.process.kill("SIGKILL");
    assert.equal(await killed.says(), undefined);
    const next = new SetUp(parent);
    next.goOn();
    const words = [await next.says(), await next.says(), await next.says()].filter(
      (word) => word !== undefined,
    );
    assert.deepEqual(
      words.filter((word) => !word.startsWith("setup: waiting")),
      ["filling", "built"],
    );
    assert.deepEqual(readdirSync(parent).sort(), [".set-up-lock", "made"]);
  });

  test("is built once by two simultaneous processes", async () => {
    const first = new SetUp(parent);
    assert.equal(await first.says(), "filling");
    const second = new SetUp(parent);
    assert.equal(
      await second.says(),
      `setup: waiting for another set-up, which holds ${join(parent, ".set-up-lock")}`,
    );
    first.goOn();
    assert.equal(await first.says(), "built");
    assert.equal(await second.says(), "found");
  });

  test("replaces an incomplete one", async () => {
    mkdirSync(join(parent, "made"));
    writeFileSync(join(parent, "made", "rest"), "");
    const setUp = new SetUp(parent);
    setUp.goOn();
    assert.deepEqual([await setUp.says(), await setUp.says()], ["filling", "built"]);
    assert.deepEqual(readdirSync(join(parent, "made")).sort(), ["content", "mucast-environment.json"]);
  });
});
