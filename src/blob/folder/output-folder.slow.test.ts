import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { MucastError } from "../../contract/errors/errors.ts";
import { failure } from "../store-promises.testing.ts";
import { checkOutput, resolveOutput, writeOutput } from "./output-folder.ts";

const root = mkdtempSync(join(tmpdir(), "mucast-write-"));
after(() => rmSync(root, { recursive: true }));

let folders = 0;
function freshFolder(): string {
  const folder = join(root, `f${folders++}`);
  mkdirSync(folder);
  return folder;
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

test("content that fails, or a cancelled job, leaves nothing behind", async () => {
  const parent = freshFolder();
  async function* failing() {
    yield Buffer.alloc(2 ** 21);
    throw new MucastError("invalid_data", "the content broke");
  }
  await failure("invalid_data", writeOutput(parent, "o", failing()));
  const abort = new AbortController();
  async function* aborting() {
    yield Buffer.alloc(2 ** 21);
    abort.abort();
    yield Buffer.alloc(2 ** 21);
  }
  await failure("canceled", writeOutput(parent, "o", aborting(), { signal: abort.signal }));
  assert.deepEqual(readdirSync(parent), []);
});

test("a folder that cannot be created, or a name too long, is output_failed with path and cause, also before the job", async () => {
  const folder = freshFolder();
  await checkOutput(join(folder, "new", "data"), "o.json");
  assert.deepEqual(readdirSync(folder), [], "the check creates nothing");
  writeFileSync(join(folder, "file"), "");
  const error = await failure("output_failed", writeOutput(join(folder, "file", "data"), "o", "x"));
  assert.match(error.message, /file\/data\/o could not be written: .*ENOTDIR/);
  await failure("output_failed", checkOutput(join(folder, "file", "data"), "o.json"));
  await failure("output_failed", checkOutput(folder, "file"));
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
  const command = [process.execPath, "--input-type=module", "-e", WRITER, "--", folder];
  const { stdout, stderr } = spawnSync("bash", ["-c", limited, "bash", ...command], { encoding: "utf8" });
  assert.match(stdout, /^output_failed .*EFBIG/, stderr);
  assert.deepEqual(readdirSync(folder), []);
});

test("the first write of a process removes staged files that are older than a day, and nothing else", async () => {
  const folder = freshFolder();
  const kept = [".new.json.0123456789ab.tmp", ".other.tmp", "old.json"];
  const removed = [".old.json.0123456789ab.tmp", ".old.json.00000000-1-2-0123456789ab.tmp"];
  for (const name of [...kept, ...removed]) writeFileSync(join(folder, name), "");
  const twoDaysAgo = Date.now() / 1000 - 2 * 86_400;
  for (const name of [".other.tmp", "old.json", ...removed]) {
    utimesSync(join(folder, name), twoDaysAgo, twoDaysAgo);
  }
  await writeOutput(folder, "z.json", "{}");
  assert.deepEqual(readdirSync(folder).sort(), [...kept, "z.json"]);
});

test("outputs go to the data folder of BLOB_URL, or without it beside the feature file, never into data/data", () => {
  for (const [blobUrl, featureLocation, folder] of [
    ["/srv/blobs/", "/elsewhere/f.json", "/srv/blobs/data"],
    ["rel", "/elsewhere/f.json", resolve("rel/data")],
    ["file:///srv/a%20b", "/elsewhere/f.json", "/srv/a b/data"],
    [undefined, "/srv/x/f.json", "/srv/x/data"],
    [undefined, "/srv/x/data/f.json", "/srv/x/data"],
    ["", "f.json", resolve("data")],
    [undefined, "file:///srv/data/f.json", "/srv/data"],
  ] as const) {
    assert.equal(resolveOutput({ blobUrl, featureLocation }), folder);
  }
});

test("refuses an output on https, and a BLOB_URL that would name a folder after its SAS, without showing it", () => {
  const url = "https://a.example/c/data/feature_engine_1.json?sig=SECRET";
  for (const target of [
    { featureLocation: url },
    { blobUrl: "https://a.example/c?sig=SECRET", featureLocation: "f.json" },
    { blobUrl: "file://host/x", featureLocation: "f.json" },
    { blobUrl: "file:///x?y", featureLocation: "f.json" },
    { blobUrl: "a.example/c?sig=SECRET", featureLocation: "f.json" },
    { blobUrl: '"https://a.example/c?sig=SECRET"', featureLocation: "f.json" },
  ]) {
    assert.throws(
      () => resolveOutput(target),
      (error: MucastError) =>
        error.code === "invalid_request" && !/SECRET/.test(error.message + JSON.stringify(error.data)),
    );
  }
});
