import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { jsonLines, mucast } from "../../test/end-to-end/commands/command.ts";
import { mlText } from "../outputs/outputs.testing.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-report-"));
after(() => rmSync(folder, { recursive: true }));

test("report writes the page of an output and prints its path; a modified output ends with 3 and writes none", async () => {
  const output = join(folder, "ml_engine_1.json");
  writeFileSync(output, mlText());
  const out = join(folder, "report.html");
  const made = await mucast(["report", "--output", output, "--out", out]);
  assert.equal(made.code, 0, made.stderr);
  assert.deepEqual(jsonLines(made.stdout), [{ report: out }]);
  assert.match(readFileSync(out, "utf8"), /no evidence of skill/);
  const document = JSON.parse(mlText());
  document.mu.AAA = 0.5;
  writeFileSync(output, JSON.stringify(document));
  const none = join(folder, "none.html");
  const refused = await mucast(["report", "--output", output, "--out", none]);
  assert.deepEqual([refused.code, refused.stdout, existsSync(none)], [3, "", false]);
  assert.match(refused.stderr, /its mu\.AAA is 0\.5, but its forecasts give /);
});
