import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { MucastError } from "../contract/errors/errors.ts";
import { dlText, mlText } from "../outputs/outputs.testing.ts";
import { FakeTracker, sendJson } from "./fake-tracker.testing.ts";
import { readTrackedOutput } from "./tracked-output.ts";
import { type TrackingLimits, trackerOf, trackRun } from "./tracker.ts";

const NEVER = new AbortController().signal;
const LIMITS: TrackingLimits = { totalMs: 600_000 };
const TOKEN = "planted-token";
const text = mlText({ tickers: ["AAA", "BBB"] });
const output = await readTrackedOutput("ml_engine_1.json", bytesOf(text));

async function* bytesOf(document: string) {
  yield Buffer.from(document);
}

async function fake(t: TestContext): Promise<FakeTracker> {
  const tracker = await new FakeTracker().listen();
  t.after(() => tracker.close());
  return tracker;
}

function send(there: Pick<FakeTracker, "origin">, limits: Partial<TrackingLimits> = {}, tracked = output) {
  const env = { MLFLOW_TRACKING_URI: `${there.origin}/`, MLFLOW_TRACKING_TOKEN: TOKEN };
  return trackRun(tracked, trackerOf(env)!, NEVER, { ...LIMITS, ...limits });
}

/** The error of an export. It never contains the credentials. */
async function failure(there: Pick<FakeTracker, "origin">, limits: Partial<TrackingLimits> = {}) {
  const error = await send(there, limits).then(
    () => assert.fail("the export succeeded"),
    (thrown: unknown) => thrown as MucastError,
  );
  assert.ok(error instanceof MucastError, String(error));
  assert.equal(error.code, "tracking_failed");
  assert.ok(!JSON.stringify([error.message, error.data]).includes(TOKEN), error.message);
  return { message: error.message, passing: error.data.passing };
}

test("records params, metrics, tags, the output and its report as one run, and finds it the next time", async (t) => {
  const there = await fake(t);
  const run = await send(there);
  const page = `${there.origin}/#/experiments/1/runs/run0`;
  assert.deepEqual(run, { run_id: "run0", experiment: "mucast", url: page, created: true, artifacts: true });
  assert.equal(there.experiment, "mucast");
  const [recorded] = there.runs;
  assert.equal(recorded!.status, "FINISHED");
  assert.equal(recorded!.params.get("model"), "ridge");
  assert.equal(recorded!.metrics.get("score/rmse 0"), JSON.parse(text).metrics.score.pooled.rmse);
  assert.deepEqual(recorded!.tags, output.tags);
  assert.deepEqual(
    [...there.artifacts.keys()],
    ["1/run0/artifacts/ml_engine_1.json", "1/run0/artifacts/ml_engine_1.html"],
  );
  assert.equal(there.artifacts.get("1/run0/artifacts/ml_engine_1.json")!.toString(), text);
  assert.match(there.artifacts.get("1/run0/artifacts/ml_engine_1.html")!.toString(), /^<!doctype html>/i);
  assert.ok(there.asked.every(({ headers }) => headers.authorization === `Bearer ${TOKEN}`));
  const before = there.asked.length;
  assert.deepEqual(await send(there), { ...run, created: false });
  const later = there.asked.slice(before).map(({ request }) => request.split("/").slice(-2).join("/"));
  assert.deepEqual(later, ["experiments/get-by-name", "runs/search"]);
});

test("sends at most 1,000 values, 100 of them params, in a request", async (t) => {
  const there = await fake(t);
  const network = await readTrackedOutput("o", bytesOf(dlText({ tickers: ["A"] }, 1_500)));
  const params = Array.from({ length: 250 }, (_, k) => ({ key: `p${k}`, value: "1" }));
  await send(there, {}, { ...network, params });
  for (const { request, body } of there.asked) {
    if (!request.endsWith("log-batch")) continue;
    const { metrics = [], params = [] } = JSON.parse(body.toString());
    assert.ok(metrics.length + params.length <= 1_000 && params.length <= 100);
  }
  const [run] = there.runs;
  assert.equal(run!.params.size, 250);
  const epochs = [...run!.metrics.keys()].filter((key) => key.startsWith("epoch/train_loss "));
  assert.equal(epochs.length, 1_500);
});

test("a tracker that is not running is reported with its URL", async () => {
  const there = await new FakeTracker().listen();
  await there.close();
  const { message, passing } = await failure(there);
  assert.match(
    message,
    /could not be recorded at http:\/\/127\.0\.0\.1:\d+: the connection failed: ECONNREFUSED/,
  );
  assert.equal(passing, true);
});

test("a tracker that fails for a moment gets one run from several exports", async (t) => {
  const there = await fake(t);
  for (const path of ["get-by-name", "experiments/create", "runs/search", "log-batch", "ml_engine_1.json"]) {
    there.next(path, (to) => void to.writeHead(503).end());
    assert.deepEqual(await failure(there).then(({ passing }) => passing), true, path);
  }
  // The first run is created, but its answer is lost.
  there.runs.length = 0;
  there.next("runs/create", (to) => {
    to.destroy();
    return true;
  });
  await failure(there);
  assert.equal((await send(there)).run_id, "run0");
  assert.deepEqual(
    there.runs.map(({ status }) => status),
    ["FINISHED"],
  );
});

test("a tracker that does not answer, or answers too slowly, is given up", async (t) => {
  const there = await fake(t);
  there.next("get-by-name", () => undefined);
  const silent = await failure(there, { requestMs: 200 });
  assert.match(silent.message, /no answer within 200 ms/);
  assert.equal(silent.passing, true);
  there.next("runs/search", () => undefined);
  const slow = await failure(there, { totalMs: 500 });
  assert.match(slow.message, /it took longer than 0\.5 s/);
  assert.equal(slow.passing, true);
});

test("a run whose upload failed is completed by the next export", async (t) => {
  const there = await fake(t);
  there.next("ml_engine_1.html", (to) => void to.writeHead(500).end());
  const { message, passing } = await failure(there);
  assert.match(message, /it answered 500/);
  assert.deepEqual([passing, there.runs[0]!.status], [true, "RUNNING"]);
  assert.deepEqual([(await send(there)).run_id, there.runs.length], ["run0", 1]);
  assert.deepEqual([there.runs[0]!.status, there.artifacts.size], ["FINISHED", 2]);
});

test("a refusal is final, shows the server's message without the credentials, and marks the run", async (t) => {
  const there = await fake(t);
  there.next("log-batch", (to) =>
    sendJson(to, 400, {
      error_code: "INVALID_PARAMETER_VALUE",
      message: `no\u202e ${TOKEN} ${"x".repeat(1_000)}`,
    }),
  );
  const { message, passing } = await failure(there);
  assert.match(message, /it answered 400 INVALID_PARAMETER_VALUE: no\\u202e … x+$/);
  assert.ok(message.length < 500);
  assert.deepEqual([passing, there.runs[0]!.status, there.count("log-batch")], [false, "FAILED", 1]);
});

test("refused credentials and a deleted experiment are named", async (t) => {
  const there = await fake(t);
  there.next("get-by-name", (to) => void to.writeHead(401).end("<html>"));
  assert.match((await failure(there)).message, /it answered 401; the credentials may be missing/);
  there.experiment = "mucast";
  there.lifecycle = "deleted";
  assert.match(
    (await failure(there)).message,
    /its experiment "mucast" is deleted; restore it, or set MLFLOW_/,
  );
});

test("a redirect is not followed", async (t) => {
  const [there, other] = [await fake(t), await fake(t)];
  for (const status of [301, 307]) {
    there.next("get-by-name", (to) => void to.writeHead(status, { location: `${other.origin}/x` }).end());
    const { message, passing } = await failure(there);
    assert.match(message, new RegExp(`a redirect \\(${status}\\), and redirects are not followed`));
    assert.equal(passing, false);
  }
  assert.deepEqual(other.asked, []);
});

for (const body of ["<!doctype html><title>Sign in</title>", "[]", '{"experiment": {"id": 1}}']) {
  test(`an answer with ${body} is no answer of MLflow`, async (t) => {
    const there = await fake(t);
    there.next("get-by-name", (to) => void to.writeHead(200).end(body));
    const { message, passing } = await failure(there);
    assert.match(message, /may not be an MLflow server/);
    assert.equal(passing, false);
  });
}

for (const root of ["s3://bucket/1", "file:///mlruns/1", "mlflow-artifacts://mlflow.example/1"]) {
  test(`sends no artifact if the server keeps them at ${root}`, async (t) => {
    const there = await fake(t);
    there.artifactRoot = root;
    const { artifacts, created } = await send(there);
    assert.deepEqual([artifacts, created, there.artifacts.size], [false, true, 0]);
    assert.equal(there.runs[0]!.status, "FINISHED");
  });
}

test("an export that is cancelled ends with the reason of its signal", async (t) => {
  const there = await fake(t);
  const controller = new AbortController();
  const reason = new MucastError("canceled", "the job was cancelled by SIGINT");
  there.next("runs/create", () => controller.abort(reason));
  const tracker = trackerOf({ MLFLOW_TRACKING_URI: there.origin })!;
  await assert.rejects(trackRun(output, tracker, controller.signal, LIMITS), reason);
});
