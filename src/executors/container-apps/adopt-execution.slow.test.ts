import assert from "node:assert/strict";
import { ORDER, RECORD, Stage, trial } from "./container-apps.testing.ts";

const OPEN = Symbol("open");

trial("draining leaves the execution running, and a later service learns how it ended", async () => {
  const stage = await Stage.open();
  const execution = await (await stage.executor()).start(ORDER, stage);
  execution.stop("draining");
  const there = stage.api.executions[0]!;
  assert.deepEqual([stage.api.count("stop"), there.properties.status], [0, "Running"]);
  stage.say({ end: { record: RECORD } });
  there.properties.status = "Succeeded";
  const adopted = await (await stage.executor()).adopt(ORDER, execution.handle, stage);
  assert.deepEqual(await adopted!.ended, { kind: "succeeded", record: RECORD });
  assert.equal(await Promise.race([execution.ended, Promise.resolve(OPEN)]), OPEN);
});

trial(
  "one that was stopped for a cancel before a restart ends as canceled when told so at once",
  async () => {
    const stage = await Stage.open();
    const first = await stage.executor();
    const { handle } = await first.start(ORDER, stage);
    await first.close();
    stage.api.executions[0]!.properties.status = "Stopped";
    const adopted = await (await stage.executor()).adopt(ORDER, handle, stage);
    adopted!.stop("canceled");
    const end = await adopted!.ended;
    assert.equal(end.kind === "failed" && end.problem.code, "canceled");
  },
);

trial("one that is gone without a trace is not adopted", async () => {
  const stage = await Stage.open();
  const executor = await stage.executor();
  assert.equal(await executor.adopt(ORDER, "ml-worker-job/ml-worker-job-gone", stage), undefined);
  assert.equal(await executor.adopt(ORDER, '{"pid":1}', stage), undefined);
});

trial("one whose record Azure has dropped is known by its final status", async () => {
  const stage = await Stage.open();
  stage.say({ end: { record: RECORD } });
  const adopted = await (await stage.executor()).adopt(ORDER, "ml-worker-job/ml-worker-job-old", stage);
  assert.equal((await adopted!.ended).kind, "succeeded");
});

trial("one that Azure cannot be asked about is adopted all the same", async () => {
  const stage = await Stage.open();
  const first = await stage.executor();
  const { handle } = await first.start(ORDER, stage);
  await first.close();
  stage.api.fail("execution", { answer: { status: 503 } }, 3);
  const adopted = await (await stage.executor()).adopt(ORDER, handle, stage);
  stage.say({ end: { record: RECORD } });
  assert.equal((await adopted!.ended).kind, "succeeded");
  assert.ok(stage.troubles.length > 0);
});
