import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { mucast } from "../../test/end-to-end/commands/command.ts";
import { dlText, mlText } from "../outputs/outputs.testing.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-list-"));
const MARKET = { fitRows: 250, folds: 8 };

function written(name: string, text: string, minute: number): string {
  const path = join(folder, "blobs/data", name);
  writeFileSync(path, text);
  utimesSync(path, 1_700_000_000 + 60 * minute, 1_700_000_000 + 60 * minute);
  return path;
}

let network: string;

before(() => {
  mkdirSync(join(folder, "blobs/data"), { recursive: true });
  written("ml_engine_old.json", mlText(MARKET), 1);
  network = written("nn_engine_new.json", dlText(MARKET), 3);
  written("ml_engine_broken.json", "{", 2);
  written("feature_engine_1.json", "{}", 9);
});
after(() => rmSync(folder, { recursive: true }));

test("list has the outputs of a folder, newest first, and says why one cannot be read", async () => {
  const { code, stdout, stderr } = await mucast(["list", join(folder, "blobs")]);
  assert.equal(code, 0, stderr);
  const lines = stdout.trimEnd().split("\n").slice(2);
  assert.deepEqual(
    lines.map((line) => /data\/(\w+)\.json/.exec(line)?.[1]),
    ["nn_engine_new", "ml_engine_broken", "ml_engine_old"],
  );
  assert.match(lines[1]!, /unreadable_blob/);
  assert.match(lines[2]!, /run_ml_job +ridge /);
  const json = await mucast(["list", "--limit", "1", "--json"], {
    env: { BLOB_URL: join(folder, "blobs") },
  });
  const [first, ...others] = JSON.parse(json.stdout);
  assert.deepEqual([first.path, first.model, first.problem, others], [network, "lstm", null, []]);
});

test("latest stands for the newest output, and outputs are arguments or --output", async () => {
  const blobs = join(folder, "blobs");
  const expected = (await mucast(["show", "--output", network])).stdout;
  assert.match(expected, /tickers with a forecast/);
  assert.equal((await mucast(["show", "latest"], { env: { BLOB_URL: `file://${blobs}` } })).stdout, expected);
});

test("a file that is an input blob is no output", async () => {
  const { code, stderr } = await mucast(["show", "test/cases/tiny/data/feature_engine_tiny.json"]);
  assert.equal(code, 3, stderr);
  assert.match(stderr, /is an input blob, not the output/);
});
