import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { problemOf } from "../contract/problems/problem.ts";
import { dlText, mlText } from "../outputs/outputs.testing.ts";
import { writeReport } from "./write-report.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-report-"));
after(() => rmSync(folder, { recursive: true }));

const READING = { policy: { allowed: [] } };

function stored(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const [ml, dl] = [stored("ml_engine_1.json", mlText()), stored("nn_engine_2.json", dlText())];

test("the same outputs give the same bytes, and an existing report is replaced", async () => {
  const out = join(folder, "made", "report.html");
  await writeReport({ outputs: [ml], out }, READING);
  const first = readFileSync(out);
  assert.match(first.toString(), /^<!doctype html>/i);
  await writeReport({ outputs: [ml], out }, READING);
  assert.deepEqual(readFileSync(out), first);
  await writeReport({ outputs: [ml, dl], out }, READING);
  assert.notDeepEqual(readFileSync(out), first);
  assert.deepEqual(readdirSync(join(folder, "made")), ["report.html"]);
  assert.doesNotMatch(readFileSync(out, "utf8"), new RegExp(folder), "no path of this machine");
});

test("an output that cannot be reported writes no file, and keeps the existing one", async () => {
  const document = JSON.parse(mlText());
  document.metrics.score.pooled.rmse *= 2;
  const out = stored("kept.html", "before");
  const cases = [
    [
      stored("changed.json", JSON.stringify(document)),
      "invalid_data",
      /its metrics\.score\.pooled\.rmse is /,
    ],
    [stored("cut.json", mlText().slice(0, 500)), "unreadable_blob", /cut\.json: the blob is not JSON/],
    [
      stored("other.json", '{"schema": "mucast.audit/1"}'),
      "unreadable_blob",
      /other\.json: this is not an output of mucast: .*schema/,
    ],
    [join(folder, "gone.json"), "blob_not_found", /gone\.json/],
  ] as const;
  for (const [output, code, message] of cases) {
    await assert.rejects(writeReport({ outputs: [ml, output], out }, READING), { code, message });
  }
  const other = await writeReport({ outputs: [cases[2][0]], out }, READING).catch((error: unknown) => error);
  const { title, advice } = problemOf(other);
  assert.equal(title, "The document is not an output of a job");
  assert.match(advice, /^Give an output of run_ml_job or run_dl_job: /, "nothing in it is damaged");
  assert.equal(readFileSync(out, "utf8"), "before");
  await assert.rejects(writeReport({ outputs: Array(9).fill(ml), out }, READING), {
    code: "invalid_request",
    message: /9 outputs are given; a report compares at most 8/,
  });
});
