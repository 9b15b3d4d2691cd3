import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { MucastError } from "../contract/errors/errors.ts";
import { dlText, mlText } from "../outputs/outputs.testing.ts";
import { FakeTracker, sendJson } from "./fake-tracker.testing.ts";
import { readTrackedOutput } from "./tracked-output.ts";
import { trackerOf, trackRun } from "./tracker.ts";

const NEVER = new AbortController().signal;
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

function send(
  there: FakeTracker,
  limits: { totalMs?: number; requestMs?: number } = {},
  tracked = output,
  signal = NEVER,
) {
  const env = { MLFLOW_TRACKING_URI: `${there.origin}/`, MLFLOW_TRACKING_TOKEN: TOKEN };
  return trackRun(tracked, trackerOf(env)!, signal, { totalMs: 600_000, ...limits });
}

/** Asserts that an export fails like this, and shows no credentials. */
async function fails(
  there: FakeTracker,
  words: RegExp,
  passing: boolean,
  limits: { totalMs?: number; requestMs?: number } = {},
) {
  await assert.rejects(send(there, limits), (error: MucastError) => {
    assert.deepEqual([error.code, error.data.passing], ["tracking_failed", passing], error.message);
    assert.match(error.message, words);
    assert.ok(error.message.length < 500);
    return !JSON.stringify([error.message, error.data]).includes(TOKEN);
  });
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

test("a tracker that fails for a moment gets one run, however many exports that takes", async (t) => {
  const there = await fake(t);
  const paths = ["get-by-name", "experiments/create", "runs/search", "log-batch", "1.json", "1.html"];
  for (const path of paths) {
    there.next(path, (to) => void to.writeHead(503).end());
    await fails(there, /it answered 503$/, true);
  }
  assert.deepEqual([(await send(there)).run_id, there.runs.length], ["run0", 1]);
  assert.deepEqual([there.runs[0]!.status, there.artifacts.size], ["FINISHED", 2]);
  // The run is created, but its answer is lost.
  there.runs.length = 0;
  there.next("runs/create", (to) => {
    to.destroy();
    return true;
  });
  await fails(there, /the connection failed/, true);
  assert.deepEqual([(await send(there)).run_id, there.runs.length], ["run0", 1]);
});

test("a tracker that is away, does not answer, or answers too slowly, is given up", async (t) => {
  const there = await fake(t);
  there.next("get-by-name", () => undefined);
  await fails(there, /no answer within 200 ms/, true, { requestMs: 200 });
  there.next("runs/search", () => undefined);
  await fails(there, /it took longer than 0\.5 s/, true, { totalMs: 500 });
  await there.close();
  await fails(there, /recorded at http:\/\/127\.0\.0\.1:\d+: the connection failed: ECONNREFUSED/, true);
});

test("a refusal is final, shows the server's message without the credentials, and marks the run", async (t) => {
  const there = await fake(t);
  const message = `no\u202e ${TOKEN} ${"x".repeat(1_000)}`;
  there.next("log-batch", (to) => sendJson(to, 400, { error_code: "INVALID_PARAMETER_VALUE", message }));
  await fails(there, /it answered 400 INVALID_PARAMETER_VALUE: no\\u202e … x+$/, false);
  assert.deepEqual([there.runs[0]!.status, there.count("log-batch")], ["FAILED", 1]);
  there.lifecycle = "deleted";
  await fails(there, /its experiment "mucast" is deleted; restore it, or set MLFLOW_/, false);
});

for (const [status, body, words] of [
  [401, "<html>", /it answered 401; the credentials may be missing/],
  [301, "", /it answered 301; redirects are not followed/],
  [200, "<!doctype html><title>Sign in</title>", /may not be an MLflow server/],
  [200, '{"experiment": {"id": 1}}', /may not be an MLflow server/],
] as const) {
  test(`an answer of ${status} with ${body || "an address"} is no answer of MLflow, and nothing follows it`, async (t) => {
    const [there, other] = [await fake(t), await fake(t)];
    there.next("get-by-name", (to) => void to.writeHead(status, { location: other.origin }).end(body));
    await fails(there, words, false);
    assert.deepEqual([there.asked.length, other.asked.length], [1, 0]);
  });
}

test("sends no artifact if the server keeps them elsewhere", async (t) => {
  const there = await fake(t);
  there.artifactRoot = "s3://bucket/1";
  const { artifacts, created } = await send(there);
  assert.deepEqual([artifacts, created, there.artifacts.size], [false, true, 0]);
  assert.equal(there.runs[0]!.status, "FINISHED");
});

test("an export that is cancelled ends with the reason of its signal", async (t) => {
  const there = await fake(t);
  const controller = new AbortController();
  const reason = new MucastError("canceled", "the job was cancelled by SIGINT");
  there.next("runs/create", () => controller.abort(reason));
  await assert.rejects(send(there, {}, output, controller.signal), reason);
});
