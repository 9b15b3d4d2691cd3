import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { writeOutput } from "./output-folder.ts";

const root = mkdtempSync(join(tmpdir(), "mucast-write-"));
after(() => {
  if (mounted) execFileSync("umount", [tiny]);
  rmSync(root, { recursive: true });
});

let folders = 0;
function freshFolder(): string {
  const folder = join(root, `f${folders++}`);
  mkdirSync(folder);
  return folder;
}

async function failure(code: ErrorCode, attempt: Promise<unknown>): Promise<MucastError> {
  const error = await attempt.then(() => assert.fail("nothing was thrown")).catch((error: unknown) => error);
  assert.ok(error instanceof MucastError, String(error));
  assert.equal(error.code, code, error.message);
  return error;
}

test("an output appears under its name, complete, in a folder created for it, and its file: URL is returned", async () => {
  const folder = join(freshFolder(), "a b", "data");
  async function* pieces() {
    yield '{"a":';
    yield new TextEncoder().encode("1");
    yield "}";
  }
  const url = await writeOutput(folder, "o.json", pieces());
  assert.equal(url, pathToFileURL(join(folder, "o.json")).href);
  assert.equal(readFileSync(fileURLToPath(url), "utf8"), '{"a":1}');
  assert.deepEqual(readdirSync(folder), ["o.json"]);
  assert.equal(statSync(join(folder, "o.json")).mode & 0o777, 0o666 & ~process.umask());
});

test("writes text and bytes of any size completely", async () => {
  const folder = freshFolder();
  const bytes = Buffer.alloc(5 * 2 ** 20 + 3, "0123456789");
  await writeOutput(folder, "bytes", bytes);
  assert.ok(readFileSync(join(folder, "bytes")).equals(bytes));
  await writeOutput(folder, "text", "é".repeat(2 ** 20));
  assert.equal(readFileSync(join(folder, "text"), "utf8"), "é".repeat(2 ** 20));
  await writeOutput(folder, "many", Array(50_000).fill("0123456789"));
  assert.equal(statSync(join(folder, "many")).size, 500_000);
  await writeOutput(folder, "empty", []);
  assert.equal(statSync(join(folder, "empty")).size, 0);
});

test("no reader sees the name before the output is complete", async () => {
  const folder = freshFolder();
  async function* pieces() {
    for (let i = 0; i < 3; i++) {
      yield Buffer.alloc(2 ** 20);
      assert.ok(!readdirSync(folder).includes("o.json"));
    }
  }
  await writeOutput(folder, "o.json", pieces());
});

test("never overwrites an existing name, be it a file, a folder or a link", async () => {
  const folder = freshFolder();
  writeFileSync(join(folder, "file"), "old");
  mkdirSync(join(folder, "folder"));
  execFileSync("ln", ["-s", "/nowhere/at/all", join(folder, "link")]);
  for (const name of ["file", "folder", "link"]) {
    assert.match(
      (await failure("output_failed", writeOutput(folder, name, "new"))).message,
      /exists already/,
    );
  }
  assert.equal(readFileSync(join(folder, "file"), "utf8"), "old");
  assert.deepEqual(readdirSync(folder).sort(), ["file", "folder", "link"]);
});

test("exactly one of many writers of one name wins, and its bytes stay", async () => {
  const folder = join(freshFolder(), "data");
  const tries = Array.from({ length: 12 }, (_, i) => writeOutput(folder, "o", `${i}`.repeat(100_000)));
  const settled = await Promise.allSettled(tries);
  const winners = settled.flatMap(({ status }, i) => (status === "fulfilled" ? [i] : []));
  assert.equal(winners.length, 1);
  assert.equal(readFileSync(join(folder, "o"), "utf8"), `${winners[0]}`.repeat(100_000));
  assert.deepEqual(readdirSync(folder), ["o"]);
});

test("content that fails, or a cancelled job, leaves nothing behind, not even the folder", async () => {
  const parent = freshFolder();
  async function* failing() {
    yield Buffer.alloc(2 ** 21);
    throw new MucastError("invalid_data", "the content broke");
  }
  await failure("invalid_data", writeOutput(join(parent, "a", "data"), "o", failing()));
  const abort = new AbortController();
  async function* aborting() {
    yield Buffer.alloc(2 ** 21);
    abort.abort();
    yield Buffer.alloc(2 ** 21);
  }
  await failure("canceled", writeOutput(join(parent, "data"), "o", aborting(), { signal: abort.signal }));
  assert.deepEqual(readdirSync(parent), []);
});

test("a folder that cannot be created, or a name too long, is output_failed with path and cause", async () => {
  const folder = freshFolder();
  writeFileSync(join(folder, "file"), "");
  const error = await failure("output_failed", writeOutput(join(folder, "file", "data"), "o", "x"));
  assert.match(error.message, /file\/data\/o could not be written: .*ENOTDIR/);
  await failure("output_failed", writeOutput(folder, "n".repeat(300), "x"));
  await failure("internal", writeOutput(folder, "../o", "x"));
  assert.deepEqual(readdirSync(folder), ["file"]);
});

const WRITER = `
import { writeOutput } from ${JSON.stringify(new URL("./output-folder.ts", import.meta.url).href)};
await writeOutput(process.argv[1], "o.json", Array(64).fill(Buffer.alloc(65536)))
  .then(() => console.log("written"), (error) => console.log(error.code, error.message));
`;

test("a write cut off by a real limit on file size is output_failed and leaves nothing", () => {
  const folder = freshFolder();
  const limited = 'ulimit -f 512; exec "$@"';
  const command = [process.execPath, "--input-type=module", "-e", WRITER, "--", join(folder, "data")];
  const { stdout, stderr } = spawnSync("bash", ["-c", limited, "bash", ...command], { encoding: "utf8" });
  assert.match(stdout, /^output_failed .*EFBIG/, stderr);
  assert.deepEqual(readdirSync(folder), []);
});

const tiny = freshFolder();
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", tiny]).status === 0;

test("a really full disk is output_failed with ENOSPC and leaves nothing (needs the right to mount a tmpfs)", {
  skip: mounted ? false : "NOT RUN: this user may not mount; the test with a file size limit stands in",
}, async () => {
  const error = await failure(
    "output_failed",
    writeOutput(join(tiny, "data"), "o.json", Buffer.alloc(2 ** 21)),
  );
  assert.match(error.message, /no space left on the device \(ENOSPC\)/);
  assert.deepEqual(readdirSync(tiny), []);
  await writeOutput(join(tiny, "data"), "o.json", Buffer.alloc(2 ** 19));
  assert.deepEqual(readdirSync(join(tiny, "data")), ["o.json"]);
});
