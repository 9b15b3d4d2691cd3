import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { after, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { jobArguments, jsonLines, mucast } from "../../test/end-to-end/commands/command.ts";
import { newFolder, removeFolders } from "../../test/end-to-end/jobs/job-runs.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { mlText } from "../outputs/outputs.testing.ts";
import { FakeTracker } from "../tracking/fake-tracker.testing.ts";
import { trackJob } from "./run-job.ts";
import { Reporter } from "./terminal/reporter.ts";

/** catboost, because its import is the shortest. */
const QUICK = '{"ML params": {"model": "catboost", "n_splits": 2, "model_params": {"iterations": 2}}}';
const tiny = "test/cases/tiny/data";
const pair = {
  folder: "test/cases/tiny",
  features: `${tiny}/feature_engine_tiny.json`,
  prices: `${tiny}/data_extractor_tiny.json`,
};
const TOKEN = "planted-token";
const folder = mkdtempSync(join(tmpdir(), "mucast-job-tracking-"));
const output = join(folder, "ml_engine_1.json");
writeFileSync(output, mlText({ tickers: ["A"] }));
after(async () => {
  rmSync(folder, { recursive: true });
  await removeFolders();
});

async function fake(t: TestContext): Promise<FakeTracker> {
  const tracker = await new FakeTracker().listen();
  t.after(() => tracker.close());
  return tracker;
}

/** The lines of stderr after a job with this environment has written its output. */
async function linesOf(
  env: Record<string, string>,
  { signal = new AbortController().signal, answer = 600_000 } = {},
) {
  const stream = new PassThrough();
  const reporter = new Reporter({ format: "json", quiet: true, stream });
  const reading = { policy: { allowed: [] }, signal };
  const waits = { requestMs: answer, totalMs: 600_000 };
  await trackJob(output, reading, { MLFLOW_TRACKING_TOKEN: TOKEN, ...env }, reporter, waits);
  const text = String(stream.read() ?? "");
  assert.ok(!text.includes(TOKEN));
  return jsonLines(text);
}

test("a job is recorded with its tags after its output is written, and stdout stays the same", {
  timeout: 600_000,
}, async (t) => {
  const there = await fake(t);
  const place = await newFolder();
  const env = { MLFLOW_TRACKING_URI: there.origin, MLFLOW_EXPERIMENT_NAME: "desk", OPERATION_ID: "42" };
  const args = jobArguments(pair, QUICK, "--blob-url", place, "--log", "json", "--tag", "daily");
  const { code, stdout, stderr } = await mucast(args, { env });
  assert.equal(code, 0, stderr);
  const record = JSON.parse(stdout);
  assert.deepEqual(Object.keys(record), ["status", "output_url", "output_name", "execution_name"]);
  const [line] = jsonLines(stderr).filter(({ mlflow }) => mlflow !== undefined);
  assert.equal((line!.mlflow as { run_id: string }).run_id, "run0");
  assert.equal(there.experiment, "desk");
  const [run] = there.runs;
  assert.equal(run!.status, "FINISHED");
  assert.equal(run!.params.get("model_params.iterations"), "2");
  assert.ok(run!.tags.some(({ key, value }) => key === "mucast.tags" && value === '["daily"]'));
  const stored = there.artifacts.get("1/run0/artifacts/ml_engine_42.json")!;
  assert.ok(stored.equals(readFileSync(fileURLToPath(record.output_url))));
});

test("a job that a service starts does not contact the tracker", { timeout: 600_000 }, async (t) => {
  const there = await fake(t);
  const env = { MLFLOW_TRACKING_URI: there.origin, OPERATION_ID: "op", MUCAST_STATUS_ATTEMPT: "1" };
  const { code, stderr } = await mucast(jobArguments(pair, QUICK, "--blob-url", await newFolder()), { env });
  assert.equal(code, 0, stderr);
  assert.deepEqual(there.asked, []);
});

test("a tracker that is away, never answers or refuses is reported once", async (t) => {
  const away = await new FakeTracker().listen();
  await away.close();
  const silent = await fake(t);
  silent.next("get-by-name", () => undefined, 9);
  const refusing = await fake(t);
  refusing.next("runs/create", (to) => void to.writeHead(403).end());
  for (const [{ origin }, reason, answer] of [
    [away, /could not be recorded at http:.*: the connection failed: ECONNREFUSED/, 600_000],
    [silent, /no answer within 100 ms/, 100],
    [refusing, /it answered 403; the credentials may be missing/, 600_000],
  ] as const) {
    const lines = await linesOf({ MLFLOW_TRACKING_URI: origin }, { answer });
    assert.deepEqual(
      lines.map(({ level, code }) => [level, code]),
      [["warning", "tracking_failed"]],
    );
    assert.match(String(lines[0]!.message), /^the job is not recorded in MLflow: /);
    assert.match(String(lines[0]!.message), reason);
  }
  assert.deepEqual(away.asked, []);
  assert.equal(silent.count("runs/create"), 0);
});

test("a cancelled job ends with the reason of its signal, and no line", async (t) => {
  const there = await fake(t);
  const controller = new AbortController();
  const reason = new MucastError("canceled", "the job was cancelled by SIGINT");
  there.next("runs/search", () => controller.abort(reason));
  await assert.rejects(linesOf({ MLFLOW_TRACKING_URI: there.origin }, controller), reason);
});
