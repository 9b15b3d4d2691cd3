/** The commands that read outputs, as a shell sees them. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { jsonLines, mucast, startMucast } from "../../test/end-to-end/commands/command.ts";
import { chosenOutputsSchema } from "../contract/output/choice.ts";
import { dlText, mlText } from "../outputs/outputs.testing.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-outputs-"));
mkdirSync(join(folder, "data"));
after(() => rmSync(folder, { recursive: true }));

const MARKET = { fitRows: 250, folds: 8 };
const [first, second, network, broken] = [
  ["ml_engine_1.json", mlText(MARKET)],
  ["ml_engine_2.json", mlText({ ...MARKET, skill: 0.3, seed: 2 })],
  ["nn_engine_3.json", dlText({ ...MARKET, skill: 0.2, seed: 3 })],
  ["ml_engine_broken.json", "{"],
].map(([name, text], minute) => {
  const path = join(folder, "data", name!);
  writeFileSync(path, text!);
  utimesSync(path, 60 * minute, 60 * minute);
  return path;
}) as [string, string, string, string];

test("list has the outputs of a folder, newest first, and says why one cannot be read", async () => {
  const { code, stdout, stderr } = await mucast(["list", folder]);
  assert.equal(code, 0, stderr);
  const lines = stdout.trimEnd().split("\n").slice(2);
  assert.deepEqual(
    lines.map((line) => line.split(" ")[0]),
    [broken, network, second, first],
  );
  assert.match(lines[0]!, /unreadable_blob/);
  assert.match(lines[3]!, /run_ml_job +ridge /);
  const json = await mucast(["list", "--limit", "2", "--json"], { env: { BLOB_URL: folder } });
  const [, listed, ...others] = JSON.parse(json.stdout);
  assert.deepEqual([listed.path, listed.model, listed.problem, others], [network, "lstm", null, []]);
});

test("show prints a column for each output", async () => {
  const { code, stdout, stderr } = await mucast(["show", first, "--output", network]);
  assert.equal(code, 0, stderr);
  const lines = stdout.split("\n");
  assert.match(lines[0]!, /^ +ridge +lstm$/);
  const ic = JSON.parse(mlText(MARKET)).verdict.judged[0].order.figure.toFixed(3);
  assert.ok(lines.find((line) => line.startsWith(`    IC `))?.includes(` ${ic} `), stdout);
});

test("choose prints the candidates and the members by date, or JSON", async () => {
  const { code, stdout, stderr } = await mucast(["choose", first, second]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^1 ridge \(2\) .* yes$/m);
  assert.match(
    stdout,
    /^Compared on .* \(160 dates\)\. Figures are over 120 of these dates; the other 40 only/m,
  );
  assert.match(stdout, /^chosen in advance /m);
  assert.match(stdout, /^at the end +1$/m);
  const json = await mucast(["choose", first, second, network, "--rows", "score", "--json"]);
  const { candidates, best } = chosenOutputsSchema.parse(JSON.parse(json.stdout));
  assert.deepEqual([candidates.map(({ output }) => output), best], [[first, second, network], 1]);
  const refused = await mucast(["choose", first, network]);
  assert.deepEqual([refused.code, refused.stdout], [2, ""]);
  assert.match(refused.stderr, /nn_engine_3\.json cannot be chosen: it has no out-of-fold rows/);
  assert.match((await mucast(["choose", first])).stderr, /1 output is named; name 2 to 100/);
});

test("export writes a table and says how many rows it has; an invalid output leaves the old table", async () => {
  const out = join(folder, "forecasts.csv");
  const made = await mucast(["export", first, "--out", out]);
  assert.equal(made.code, 0, made.stderr);
  const table = readFileSync(out, "utf8");
  const rows = table.trimEnd().split("\n").length - 1;
  assert.deepEqual(jsonLines(made.stdout), [{ export: out, rows }]);
  const piped = await mucast(["export", first, "--out", "-"]);
  assert.deepEqual([piped.stdout, jsonLines(piped.stderr)], [table, [{ export: "-", rows }]]);
  const document = JSON.parse(mlText());
  document.forecasts.AAA.predicted.pop();
  const faulty = join(folder, "faulty.json");
  writeFileSync(faulty, JSON.stringify(document));
  const failed = await mucast(["export", faulty, "--out", out]);
  assert.equal(failed.code, 3, failed.stderr);
  assert.match(failed.stderr, /forecasts\.AAA\.predicted has 119 values for 120 dates/);
  assert.equal(readFileSync(out, "utf8"), table);
});

test("export names what it needs: a file that it can write, or a tracker", async () => {
  for (const [args, message] of [
    [
      ["--out", join(folder, "forecasts.xlsx")],
      /--out must end with \.csv or \.parquet, which says the format/,
    ],
    [[], /--out: is missing; give a file, --mlflow, or both/],
    [["--mlflow"], /MLFLOW_TRACKING_URI: is not set/],
  ] as const) {
    const { code, stdout, stderr } = await mucast(["export", first, ...args]);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, message);
  }
});

test("a reader that stops early, as head does, is no error", async () => {
  const long = join(folder, "long.json");
  // More than pipes hold.
  writeFileSync(long, mlText({ scoreRows: 20_000 }));
  for (const words of [
    ["export", long, "--out", "-"],
    ["db", "--help"],
  ]) {
    const { child, ended } = await startMucast(words);
    child.stdout!.once("data", () => child.stdout!.destroy());
    const { code, stderr } = await ended;
    assert.deepEqual([code, stderr], [0, ""]);
  }
});

test("report writes the page of an output, and none of an output that was modified", async () => {
  const out = join(folder, "report.html");
  rmSync(broken);
  const made = await mucast(["report", folder, "--out", out]);
  assert.deepEqual([made.code, jsonLines(made.stdout)], [0, [{ report: out }]]);
  assert.equal(made.stderr, `${folder}: the newest output is ${network}\n`);
  assert.match(readFileSync(out, "utf8"), /^<!doctype html>/i);
  const document = JSON.parse(mlText());
  document.mu.AAA = 0.5;
  const modified = join(folder, "modified.json");
  writeFileSync(modified, JSON.stringify(document));
  const none = join(folder, "none.html");
  const refused = await mucast(["report", modified, "--out", none]);
  assert.deepEqual([refused.code, refused.stdout, existsSync(none)], [3, "", false]);
  assert.match(refused.stderr, /its mu\.AAA is 0\.5, but its forecasts give /);
});
