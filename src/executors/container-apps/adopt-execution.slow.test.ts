import assert from "node:assert/strict";
import { ORDER, RECORD, Stage, trial } from "./container-apps.testing.ts";

const OPEN = Symbol("open");

trial(
  "draining and closing leave the execution running, and a later service learns how it ended",
  async () => {
    const stage = await Stage.open();
    for (const way of ["stop", "close"] as const) {
      const order = { ...ORDER, id: way };
      const first = await stage.executor();
      const execution = await first.start(order, stage);
      if (way === "stop") execution.stop("draining");
      else await first.close();
      const there = stage.api.executions.at(-1)!;
      assert.equal(stage.api.count("stop"), 0);
      assert.equal(there.properties.status, "Running");

      const adopted = await (await stage.executor()).adopt(order, execution.handle, stage);
      assert.equal(adopted?.handle, execution.handle);
      stage.say({ end: { record: RECORD } }, order);
      there.properties.status = "Succeeded";
      assert.equal((await adopted!.ended).kind, "succeeded");
      assert.equal(await Promise.race([execution.ended, Promise.resolve(OPEN)]), OPEN);
      await first.close();
    }
  },
);

trial("an execution that has ended meanwhile is adopted with its end", async () => {
  const stage = await Stage.open();
  const first = await stage.executor();
  const { handle } = await first.start(ORDER, stage);
  await first.close();
  stage.say({ end: { record: RECORD } });
  stage.api.executions[0]!.properties.status = "Succeeded";
  const adopted = await (await stage.executor()).adopt(ORDER, handle, stage);
  assert.deepEqual(await adopted!.ended, { kind: "succeeded", record: RECORD });
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

trial("a service that ends while a start is not answered leaves it to the next one", async () => {
  const stage = await Stage.open();
  stage.api.fail("start", { answer: "silence", after: true });
  const first = await stage.executor();
  const starting = first.start(ORDER, stage);
  await stage.until(() => stage.api.count("start") === 1);
  await first.close();
  const { handle } = await starting;
  const asked = stage.api.requests.length;
  const adopted = await (await stage.executor()).adopt(ORDER, handle, stage);
  stage.say({ end: { record: RECORD } });
  assert.equal((await adopted!.ended).kind, "succeeded");
  assert.ok(stage.api.requests.length > asked);
  assert.equal(stage.api.executions.length, 1);
});
