/** Ten outputs of version 0.2.0 (test/cases/outputs-0.2.0/README.md), through everything that reads or replays outputs. */
import assert from "node:assert/strict";
import { createReadStream, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { parquetReadObjects } from "hyparquet";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { exportForecasts } from "../../../src/export/export-forecasts.ts";
import { replay } from "../../../src/replay/replay.testing.ts";
import { writeReport } from "../../../src/report/write-report.ts";
import { readForecast } from "../../../src/service/forecast/read-forecast.ts";
import { openTrackedOutput } from "../../../src/tracking/tracked-output.ts";
import { typesetFigures } from "../../../src/view/figures.ts";
import { mucast } from "../commands/command.ts";
import { removeFolders } from "./job-runs.ts";
import { openSharedEngine } from "./shared-engines.ts";

const CASES = "test/cases/outputs-0.2.0";
const folder = mkdtempSync(join(tmpdir(), "mucast-old-"));
const reading = { policy: { allowed: [] } };

/** The setting of an output that later versions refuse. */
const REFUSED_LATER: Readonly<Record<string, string>> = {
  "ml_engine_choice.json": "choice.over",
  "ml_engine_racing.json": "choice.racing",
  "nn_engine_portfolio.json": "refit_start",
};

const outputs = new Map<string, OutputBlob>();
for (const file of readdirSync(CASES).filter((name) => name.endsWith(".gz"))) {
  const [name, bytes] = [file.replace(/\.gz$/, ""), gunzipSync(readFileSync(join(CASES, file)))];
  writeFileSync(join(folder, name), bytes);
  if (/^(ml|nn)_/.test(name)) outputs.set(name, JSON.parse(bytes.toString()));
}

const pathOf = (name: string) => join(folder, name);
const namesOf = (wanted: (output: OutputBlob, name: string) => boolean) =>
  [...outputs].filter(([name, output]) => wanted(output, name)).map(([name]) => name);
const onNine = namesOf(({ provenance }) => provenance.feature_url === "feature_engine_nine.json");

after(async () => {
  await removeFolders();
  rmSync(folder, { recursive: true });
});

describe("an output of 0.2.0 is read", { timeout: 600_000 }, () => {
  for (const [name, output] of outputs) {
    test(`by export, the tracker, reports and get_forecast: ${name}`, async () => {
      const { mu, verdict, forecasts, cross_validation = {}, model } = output;
      const rows = [...Object.values(forecasts), ...Object.values(cross_validation)];
      const count = rows.reduce((sum, { dates }) => sum + dates.length, 0);
      const [csv, parquet] = [pathOf("table.csv"), pathOf("table.parquet")];
      assert.equal(await exportForecasts({ output: pathOf(name), out: csv }, reading), count);
      assert.equal(readFileSync(csv, "utf8").split("\n").length, count + 2);
      assert.equal(await exportForecasts({ output: pathOf(name), out: parquet }, reading), count);
      const table = await parquetReadObjects({ file: new Uint8Array(readFileSync(parquet)).buffer });
      for (const [ticker, { predicted }] of Object.entries(forecasts)) {
        const scored = table.filter((row) => row.part === "score" && row.ticker === ticker);
        assert.deepEqual(
          scored.map((row) => row.predicted),
          predicted,
        );
      }

      const tracked = await openTrackedOutput(pathOf(name), reading);
      const params = new Map(tracked.params.map(({ key, value }) => [key, value]));
      const option = "model" in model ? "model" : "current option";
      assert.equal(params.get(option), (model as Record<string, unknown>)[option]);
      const tickers = tracked.metrics.find((metric) => metric.name === "tickers");
      assert.equal(tickers!.points[0]!.value, Object.keys(mu).length);
      const page = await tracked.artifacts[1]!.text();
      if (verdict !== undefined) assert.ok(page.includes(typesetFigures(verdict.title)));

      const view = await readForecast(name, createReadStream(pathOf(name)), { tickers: Object.keys(mu) });
      assert.deepEqual(
        new Map(view.forecasts.map((row) => [row.ticker, row.mu])),
        new Map(Object.entries(mu)),
      );
      assert.deepEqual(view.verdict, verdict);
    });
  }

  test("by show, which prints each verdict", async () => {
    const { code, stdout, stderr } = await mucast(["show", ...[...outputs.keys()].map(pathOf)]);
    assert.equal(code, 0, stderr);
    for (const { verdict } of outputs.values()) assert.ok(stdout.includes(verdict?.title ?? "-"));
  });

  test("by choose, and by a report that compares several", async () => {
    const regressors = namesOf((_, name) => onNine.includes(name) && name.startsWith("ml_"));
    for (const [rows, names] of [
      ["out_of_fold", regressors],
      ["score", onNine],
    ] as const) {
      const paths = names.map(pathOf);
      const { code, stdout, stderr } = await mucast(["choose", ...paths, "--rows", rows, "--json"]);
      assert.equal(code, 0, stderr);
      const { candidates } = JSON.parse(stdout);
      assert.deepEqual(
        candidates.map((candidate: { output: string }) => candidate.output),
        paths,
      );
    }
    const out = pathOf("report.html");
    await writeReport({ outputs: onNine.map(pathOf), out }, reading);
    const page = readFileSync(out, "utf8");
    for (const name of onNine) assert.ok(page.includes(`run ${outputs.get(name)!.id}`), name);
  });
});

describe("an output of 0.2.0 is replayed by another build", { timeout: 600_000 }, () => {
  for (const [name, { provenance }] of outputs) {
    // At the commit of the corpus itself, each of them is identical.
    test(`which names the versions, or the setting that it refuses: ${name}`, async () => {
      const { verdict, reason, versions, problem } = await replay(
        { outputUrl: pathOf(name) },
        openSharedEngine,
      );
      const setting = REFUSED_LATER[name];
      // Until the setting is removed, the job runs.
      if (setting !== undefined && verdict === "cannot_replay") {
        assert.equal(reason!.code, "job_refused");
        assert.ok(problem!.detail.includes(setting), problem!.detail);
        return;
      }
      assert.deepEqual([verdict, reason!.code], ["differs", "versions"], reason?.message);
      assert.equal(versions.find((version) => version.name === "commit")!.recorded, provenance.commit);
      const [first] = versions;
      assert.ok(reason!.message.startsWith(`other versions: ${first!.name} ${first!.recorded}, now `));
    });
  }
});

test("the corpus has ten outputs", () => assert.equal(outputs.size, 10));
