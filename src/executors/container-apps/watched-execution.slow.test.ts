import assert from "node:assert/strict";
import { inspect } from "node:util";
import { MucastError } from "../../contract/errors/errors.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { ORDER, RECORD, Stage, trial } from "./container-apps.testing.ts";
import type { Fault } from "./fake-management-api.testing.ts";

async function running() {
  const stage = await Stage.open();
  const executor = await stage.executor();
  const execution = await executor.start(ORDER, stage);
  const there = stage.api.executions[0]!;
  /** Waits for complete polls that begin from now on. */
  const looks = async (count: number) => {
    const before = stage.api.count("execution");
    await stage.until(() => stage.api.count("execution") > before + count);
  };
  return { stage, executor, execution, there, looks };
}

const warning: Warning = { code: "long_gap", message: "a gap", ticker: "AAPL" };

trial("progress and warnings of the status blob are reported, each once", async () => {
  const { stage, execution, there, looks } = await running();
  stage.say({ progress: { stage: "read", done: 5, total: null }, warnings: [warning] });
  await looks(2);
  stage.say({
    progress: { stage: "fit", done: 1, total: 2 },
    warnings: [warning, { ...warning, ticker: "B" }],
  });
  await looks(2);
  const timings = [{ name: "fit", start: 1, end: 2 }];
  stage.say({ warnings: [warning, { ...warning, ticker: "B" }], timings, end: { record: RECORD } });
  there.properties.status = "Succeeded";
  assert.deepEqual(await execution.ended, { kind: "succeeded", record: RECORD });
  assert.deepEqual(stage.batches, [
    { warnings: [warning], progress: { stage: "read", done: 5, total: null } },
    { warnings: [{ ...warning, ticker: "B" }], progress: { stage: "fit", done: 1, total: 2 } },
  ]);
  assert.deepEqual(stage.timings, timings);
});

trial("epochs, failures and counts of the status blob are reported, each once", async () => {
  const { stage, execution, there, looks } = await running();
  const point = (ticker: string, epoch: number) => ({ ticker, epoch, train_loss: 1, validation_loss: null });
  const failure = { ticker: "B", code: "diverged", message: "B: the loss is not finite" };
  const first = [point("A", 1), point("B", 1), point("A", 2)];
  stage.say({ epochs: { points: first, left_out: 5 } });
  await looks(2);
  // Thinned meanwhile: one that was reported is gone.
  const counts = { warning_counts: {}, failure_counts: { diverged: 1 } };
  const points = [point("A", 1), point("A", 2), point("A", 7), point("B", 4)];
  stage.say({ epochs: { points, left_out: 8 }, failures: [failure], ...counts });
  await looks(2);
  stage.say({ epochs: { points, left_out: 8 }, failures: [failure], ...counts, end: { record: RECORD } });
  there.properties.status = "Succeeded";
  assert.equal((await execution.ended).kind, "succeeded");
  assert.deepEqual(stage.batches, [
    { epochs: { points: first, left_out: 5 } },
    {
      failures: [failure],
      counts: { warnings: {}, failures: { diverged: 1 } },
      epochs: { points: [point("A", 7), point("B", 4)], left_out: 2 },
    },
  ]);
});

trial("it goes on through every state that is no end", async () => {
  const { stage, execution, there, looks } = await running();
  for (const status of ["Processing", "Running", "Degraded", "Unknown", "SomethingNew"]) {
    there.properties.status = status;
    await looks(1);
  }
  stage.say({ end: { record: RECORD } });
  there.properties.status = "Succeeded";
  assert.equal((await execution.ended).kind, "succeeded");
});

trial("a job whose status says that it succeeded has, in any state of its container", async () => {
  for (const status of ["Running", "Unknown", "Failed"]) {
    const { stage, execution, there } = await running();
    there.properties.status = status;
    stage.say({ end: { record: RECORD } });
    assert.equal((await execution.ended).kind, "succeeded");
  }
});

trial("an end without a final status is looked at once more, then lost with Azure's reason", async () => {
  const { execution, there } = await running();
  const containers = [{ name: "ml-worker-job", code: 137, additionalInformation: "OOMKilled" }];
  there.properties = {
    status: "Failed",
    reason: "BackoffLimitExceeded",
    detailedStatus: { replicas: [{ name: "r", containers }] },
  };
  const end = await execution.ended;
  assert.equal(end.kind, "lost");
  assert.match(end.kind === "lost" ? end.reason : "", /Failed.*BackoffLimitExceeded.*137.*OOMKilled/);
});

trial("Succeeded without a final status is lost, Succeeded with a late one is not", async () => {
  const first = await running();
  first.there.properties.status = "Succeeded";
  assert.equal((await first.execution.ended).kind, "lost");

  const stage = await Stage.open();
  let reads = 0;
  stage.say({ end: { record: RECORD } });
  const late = stage.statuses.get("op-1.1");
  // Two reads per poll: the first poll that sees the end finds no final status.
  const executor = await stage.executor({ readStatus: async () => (++reads > 2 ? late : undefined) });
  const started = executor.start(ORDER, stage);
  await stage.until(() => stage.api.executions.length === 1);
  stage.api.executions[0]!.properties.status = "Succeeded";
  assert.equal((await (await started).ended).kind, "succeeded");
});

trial("a job that another party stopped is lost, not cancelled", async () => {
  const { stage, execution, there } = await running();
  stage.say({ end: { problem: problemOf(new MucastError("canceled", "SIGTERM")) } });
  there.properties.status = "Stopped";
  assert.equal((await execution.ended).kind, "lost");
});

trial("an execution that is gone for good is lost; one that is not there yet is waited for", async () => {
  const { stage, execution, there } = await running();
  there.hidden = 2;
  await stage.until(() => there.hidden < 0);
  stage.api.executions.length = 0;
  const end = await execution.ended;
  assert.equal(end.kind === "lost" && end.reason, "Azure knows no such execution");
});

trial(
  "storms of throttling, errors and cut connections do not end it, and each is reported once",
  async () => {
    const { stage, execution, there } = await running();
    const faults: Fault["answer"][] = [
      { status: 429 },
      { status: 429 },
      { status: 500 },
      { status: 500 },
      { status: 503 },
      "cut",
      { status: 403 },
      { status: 200, body: {} },
    ];
    const told = stage.troubles.length;
    for (const answer of faults) stage.api.fail("execution", { answer });
    const before = stage.api.count("execution");
    await stage.until(() => stage.api.count("execution") >= before + faults.length);
    stage.say({ end: { record: RECORD } });
    there.properties.status = "Succeeded";
    assert.equal((await execution.ended).kind, "succeeded");
    const troubles = stage.troubles.slice(told);
    assert.equal(troubles.filter((text) => text.startsWith("500")).length, 1);
    assert.ok(
      troubles.some((text) => text.startsWith("429")) && troubles.some((text) => text.startsWith("403")),
    );
    assert.doesNotMatch(inspect(troubles), /SECRET/);
  },
);

trial("storage that fails for a while does not end it", async () => {
  const stage = await Stage.open();
  let failures = 3;
  const executor = await stage.executor({
    readStatus: async () => {
      if (failures-- > 0) throw new MucastError("blob_unavailable", "the storage is away");
      return stage.statuses.get("op-1.1");
    },
  });
  stage.say({ end: { record: RECORD } });
  const execution = await executor.start(ORDER, stage);
  assert.equal((await execution.ended).kind, "succeeded");
  assert.deepEqual(stage.troubles, ["the storage is away"]);
});

trial(
  "stop ends it as failed with the first reason once it has stopped, which Azure may do later",
  async () => {
    const { stage, execution, there } = await running();
    stage.api.answers = 202;
    stage.api.stopping = ["Running", "Processing", "Stopped"];
    execution.stop("timed_out");
    execution.stop("canceled");
    const end = await execution.ended;
    assert.equal(end.kind === "failed" && end.problem.code, "timed_out");
    assert.equal(there.properties.status, "Stopped");
    assert.equal(stage.api.count("stop"), 1);
  },
);

trial("a job that succeeded before its stop arrived has succeeded", async () => {
  const { stage, execution, there } = await running();
  stage.api.stopping = ["Running", "Succeeded"];
  execution.stop("canceled");
  await stage.until(() => stage.api.count("stop") === 1);
  stage.say({ end: { record: RECORD } });
  there.properties.status = "Succeeded";
  assert.equal((await execution.ended).kind, "succeeded");
});

trial("a stop that is throttled, cut or refused is asked for again", async () => {
  const { stage, execution } = await running();
  stage.api.fail("stop", { answer: { status: 429 } });
  stage.api.fail("stop", { answer: "cut" });
  stage.api.fail("stop", { answer: { status: 409 } });
  execution.stop("canceled");
  const end = await execution.ended;
  assert.equal(end.kind === "failed" && end.problem.code, "canceled");
  assert.equal(stage.api.count("stop"), 4);
});

trial("an execution that may not be stopped is still seen to end", async () => {
  const { stage, execution, there } = await running();
  stage.api.fail("stop", { answer: { status: 403 } }, 1_000);
  execution.stop("timed_out");
  await stage.until(() => stage.troubles.length > 0);
  there.properties.status = "Failed";
  const end = await execution.ended;
  assert.equal(end.kind === "failed" && end.problem.code, "timed_out");
});

trial("a status that is none does not keep an execution from ending", async () => {
  const stage = await Stage.open();
  const executor = await stage.executor({
    readStatus: async () => {
      throw new MucastError("invalid_data", "status/op-1.1.json is not the status of attempt 1 at op-1");
    },
  });
  const execution = await executor.start(ORDER, stage);
  stage.api.executions[0]!.properties.status = "Succeeded";
  assert.equal((await execution.ended).kind, "lost");
});
