import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { jsonLines, mucast, startMucast } from "../../test/end-to-end/commands/command.ts";
import { claimPort } from "../../test/servers/port.testing.ts";
import { dlText, mlText } from "../outputs/outputs.testing.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-export-"));
after(() => rmSync(folder, { recursive: true }));
const output = join(folder, "ml_engine_1.json");
writeFileSync(output, mlText());

test("export writes a table and says how many rows it has; another file extension ends with 2, and an invalid output leaves the old table", async () => {
  const out = join(folder, "forecasts.csv");
  const made = await mucast(["export", "--output", output, "--out", out]);
  assert.equal(made.code, 0, made.stderr);
  const lines = readFileSync(out, "utf8").trimEnd().split("\n");
  assert.deepEqual(jsonLines(made.stdout), [{ export: out, rows: lines.length - 1 }]);
  const other = join(folder, "forecasts.xlsx");
  const refused = await mucast(["export", "--output", output, "--out", other]);
  assert.deepEqual([refused.code, refused.stdout, existsSync(other)], [2, "", false]);
  assert.match(
    refused.stderr,
    /--out must end with \.csv or \.parquet, which says the format, got ".*forecasts\.xlsx"/,
  );
  const faulty = join(folder, "faulty.json");
  const document = JSON.parse(mlText());
  document.forecasts.AAA.predicted.pop();
  writeFileSync(faulty, JSON.stringify(document));
  const failed = await mucast(["export", "--output", faulty, "--out", out]);
  assert.equal(failed.code, 3, failed.stderr);
  assert.match(failed.stderr, /forecasts\.AAA\.predicted has 119 values for 120 dates/);
  assert.equal(readFileSync(out, "utf8").trimEnd().split("\n").length, lines.length);
});

test("export writes CSV to stdout, and the number of rows to stderr", async () => {
  const out = join(folder, "same.csv");
  await mucast(["export", output, "--out", out]);
  const { code, stdout, stderr } = await mucast(["export", output, "--out", "-"]);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, readFileSync(out, "utf8"));
  assert.deepEqual(jsonLines(stderr), [{ export: "-", rows: stdout.trimEnd().split("\n").length - 1 }]);
});

test("export and report name the output that a folder stands for", async () => {
  const found = join(folder, "found");
  mkdirSync(found);
  const newest = join(found, "ml_engine_2.json");
  writeFileSync(newest, mlText());
  for (const args of [
    ["export", found, "--out", join(folder, "found.csv")],
    ["report", found, "--out", join(folder, "found.html")],
  ]) {
    const { code, stderr } = await mucast(args);
    assert.equal(code, 0, stderr);
    assert.equal(stderr, `${found}: the newest output is ${newest}\n`);
  }
});

test("a reader that stops early, as head does, is no error", async () => {
  const long = join(folder, "ml_engine_3.json");
  // More than pipes hold.
  writeFileSync(long, mlText({ scoreRows: 20_000 }));
  const { child, ended } = await startMucast(["export", long, "--out", "-"]);
  child.stdout!.once("data", () => child.stdout!.destroy());
  const { code, stderr } = await ended;
  assert.deepEqual([code, stderr], [0, ""]);
});

test("export needs a file or a tracker, and names the variable that is missing or the tracker that is away", async () => {
  const neither = await mucast(["export", "--output", output]);
  assert.deepEqual([neither.code, neither.stdout], [2, ""]);
  assert.match(neither.stderr, /--out: is missing; give a file, --mlflow, or both/);
  const unset = await mucast(["export", "--output", output, "--mlflow"]);
  assert.deepEqual([unset.code, unset.stdout], [2, ""]);
  assert.match(unset.stderr, /MLFLOW_TRACKING_URI: is not set/);
  const env = {
    MLFLOW_TRACKING_URI: `http://127.0.0.1:${await claimPort()}/x`,
    MLFLOW_TRACKING_TOKEN: "planted",
  };
  const away = await mucast(["export", "--output", output, "--mlflow"], { env });
  assert.deepEqual([away.code, away.stdout], [3, ""]);
  assert.match(
    away.stderr,
    /tracking_failed: .*could not be recorded at http:\/\/127\.0\.0\.1:\d+\/x: the connection failed: ECONNREFUSED/s,
  );
  assert.ok(!away.stderr.includes("planted"));
});

test("show prints a column for each output", async () => {
  const network = join(folder, "nn_engine_2.json");
  writeFileSync(network, dlText());
  const { code, stdout, stderr } = await mucast(["show", "--output", output, network]);
  assert.equal(code, 0, stderr);
  const { verdict } = JSON.parse(mlText());
  const lines = stdout.split("\n");
  assert.match(lines[0]!, /^ +ridge +lstm$/);
  const ic = verdict.judged[0].order.figure.toFixed(3);
  assert.ok(
    lines.some((line) => line.startsWith(`    IC `) && line.includes(` ${ic} `)),
    stdout,
  );
});
