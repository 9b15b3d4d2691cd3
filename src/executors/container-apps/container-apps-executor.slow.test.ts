/** Runs the suite for executors on ContainerAppsExecutor, with a fake of Azure's management API, and its faults. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { MucastError } from "../../contract/errors/errors.ts";
import type { StatusBlob } from "../../contract/output/job-events.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { ExecutionEnd, JobOrder } from "../executor.ts";
import {
  type ExecutorTrial,
  type JobKind,
  type StartedExecution,
  testExecutor,
} from "../executor-suite.testing.ts";
import { MAX_WAIT_MS, ORDER, RECORD, Stage } from "./container-apps.testing.ts";
import { type Fault, TOKEN } from "./fake-management-api.testing.ts";

class FakeApiTrial implements ExecutorTrial {
  readonly #stage: Stage;
  readonly #kinds = new Map<string, JobKind>();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  open() {
    return this.#stage.executor();
  }

  order(kind: JobKind): JobOrder {
    const id = `op-${this.#kinds.size + 1}`;
    this.#kinds.set(id, kind);
    return { ...ORDER, id };
  }

  async amid({ order, listener }: StartedExecution): Promise<void> {
    this.#stage.say({ progress: { stage: "fit", done: 1, total: 2 } }, order);
    await this.#stage.until(() => listener.batches.length > 0);
  }

  async finish(tried: StartedExecution): Promise<void> {
    const { order } = tried;
    const fails = this.#kinds.get(order.id) === "fails";
    const problem = problemOf(new MucastError("invalid_model_params", "alpha must not be negative"));
    const record = { ...RECORD, output_name: `ml_engine_${order.id}.json` };
    this.#stage.say(
      {
        warnings: [{ code: "long_gap", message: "a gap", ticker: "AAPL" }],
        timings: [{ name: "fit", start: 1, end: 2 }],
        end: fails ? { problem } : { record },
      },
      order,
    );
    this.#stateOf(tried).status = fails ? "Failed" : "Succeeded";
  }

  kill(tried: StartedExecution): void {
    this.#stateOf(tried).status = "Failed";
  }

  async checkLeft(): Promise<void> {
    // The fake runs nothing.
  }

  async close(): Promise<void> {
    await this.#stage.close();
  }

  #stateOf({ execution }: StartedExecution): { status: string } {
    return this.#stage.api.executions.find(({ name }) => execution.handle.endsWith(`/${name}`))!.properties;
  }
}

testExecutor("container-apps", { timeout: MAX_WAIT_MS }, async () => new FakeApiTrial(await Stage.open()));

/** A test with its own stage. */
function trial(name: string, body: (stage: Stage) => Promise<void>): void {
  test(name, { timeout: MAX_WAIT_MS }, async () => {
    const stage = await Stage.open();
    try {
      await body(stage);
    } finally {
      await stage.close();
    }
  });
}

/** The end of an execution in one word. */
function wordOf(end: ExecutionEnd): string {
  return end.kind === "failed" ? end.problem.code : end.kind;
}

/** Starts ORDER. */
async function running(stage: Stage) {
  const execution = await (await stage.executor()).start(ORDER, stage);
  const there = stage.api.executions[0]!;
  /** Waits for complete polls that begin from now on. */
  const looks = async (count: number) => {
    const before = stage.api.count("execution");
    await stage.until(() => stage.api.count("execution") > before + count);
  };
  return { execution, there, looks };
}

for (const [what, call, fault] of [
  ["a cut connection", "start", { answer: "cut", after: true }],
  ["a result that is cut", "result", { answer: "cut" }],
] as const) {
  trial(
    `after ${what} the execution is found, by a later service too, and not started twice`,
    async (stage) => {
      stage.api.answers = call === "result" ? 202 : 200;
      stage.api.hidden = 5;
      stage.api.fail(call, fault);
      const first = await stage.executor();
      const { handle } = await first.start(ORDER, stage);
      assert.equal(handle, "ml-worker-job/");
      await first.close();
      stage.api.fail("list", { answer: { status: 500 } });
      stage.api.fail("list", { answer: { status: 429 } });
      const adopted = await (await stage.executor()).adopt(ORDER, handle, stage);
      await stage.until(() => stage.api.count("execution") > 0);
      const again = await (await stage.executor()).start(ORDER, stage);
      assert.equal(again.handle, `ml-worker-job/${stage.api.executions[0]!.name}`);
      stage.say({ end: { record: RECORD } });
      assert.equal(wordOf(await adopted!.ended), "succeeded");
      assert.equal(stage.api.executions.length, 1);
    },
  );
}

trial("a start that was cut and did not happen is lost after a while", async (stage) => {
  stage.api.fail("start", { answer: "cut" });
  const execution = await (await stage.executor()).start(ORDER, stage);
  assert.deepEqual(await execution.ended, { kind: "lost", reason: "Azure knows no such execution" });
  assert.equal(stage.api.count("start"), 1);
});

trial("an attempt that runs already is found among many pages of executions", async (stage) => {
  stage.api.pageSize = 2;
  const executor = await stage.executor();
  for (const id of ["a", "b", "c", "d"]) await executor.start({ ...ORDER, id }, stage);
  const first = await executor.start(ORDER, stage);
  assert.equal((await (await stage.executor()).start(ORDER, stage)).handle, first.handle);
  assert.notEqual((await executor.start({ ...ORDER, attempt: 2 }, stage)).handle, first.handle);
  assert.equal(stage.api.executions.length, 6);
});

const DENIED = { error: { code: "AuthorizationFailed", message: "The client has no permission" } };
const quoted = `bad env ${ORDER.featureUrl} or ?sv=1\\u0026sig=SAS-SECRET or sig%3DSAS-SECRET, Bearer ${TOKEN}`;
const INVALID = { error: { code: "InvalidParameter", message: quoted } };
for (const [call, answer, code, words] of [
  ["list", { status: 503 }, "unavailable", /tried again later/],
  ["job", { status: 403, body: DENIED }, "unavailable", /AuthorizationFailed.*identity the role/],
  ["start", { status: 400, body: INVALID }, "internal", /400 InvalidParameter bad env/],
] as const) {
  trial(
    `after ${answer.status} of ${call} nothing runs; the error says what to do, and no secret`,
    async (stage) => {
      stage.api.fail(call, { answer });
      await assert.rejects((await stage.executor()).start(ORDER, stage), (error: MucastError) => {
        assert.doesNotMatch(inspect(error, { depth: 20, showHidden: true }), /SECRET/);
        assert.match(error.message, words);
        return error.code === code;
      });
      assert.equal(stage.api.executions.length, 0);
    },
  );
}

trial("missing credentials and missing settings are errors that say what to set", async (stage) => {
  const error = new Error("nothing is configured; client_secret=HIDDEN-SECRET was refused");
  const getToken = () => Promise.reject(Object.assign(error, { name: "CredentialUnavailableError" }));
  const executor = await stage.executor({ credential: { getToken } });
  await assert.rejects(executor.start(ORDER, stage), ({ code, message }: MucastError) => {
    assert.match(message, /no credentials.*identity the role/);
    return code === "unavailable" && !message.includes("SECRET");
  });
  for (const [missing, words] of [
    [{ subscription: undefined }, /MUCAST_AZURE_SUBSCRIPTION/],
    [{ resourceGroup: "" }, /MUCAST_AZURE_RESOURCE_GROUP/],
    [{ container: undefined }, /blob_url is required .* set BLOB_URL to an Azure container/],
  ] as const)
    await assert.rejects(stage.executor(missing), words);
});

trial("everything in the status blob is reported once", async (stage) => {
  const { execution, there, looks } = await running(stage);
  const warning: Warning = { code: "long_gap", message: "a gap", ticker: "AAPL" };
  const failure = { ticker: "B", code: "diverged", message: "B: the loss is not finite" };
  const point = (ticker: string, epoch: number) => ({ ticker, epoch, train_loss: 1, validation_loss: null });
  const first: Partial<StatusBlob> = {
    progress: { stage: "read", done: 5, total: null },
    warnings: [warning],
    epochs: { points: [point("A", 1), point("B", 1), point("A", 2)], left_out: 5 },
  };
  const later: Partial<StatusBlob> = {
    progress: { stage: "fit", done: 1, total: 2 },
    warnings: [warning, { ...warning, ticker: "B" }],
    // Thinned meanwhile: one that was reported is gone.
    epochs: { points: [point("A", 1), point("A", 2), point("A", 7), point("B", 4)], left_out: 8 },
    failures: [failure],
    warning_counts: {},
    failure_counts: { diverged: 1 },
  };
  stage.say(first);
  await looks(2);
  stage.say(later);
  await looks(2);
  const timings = [{ name: "fit", start: 1, end: 2 }];
  stage.say({ ...later, timings, end: { record: RECORD } });
  there.properties.status = "Succeeded";
  assert.deepEqual(await execution.ended, { kind: "succeeded", record: RECORD });
  assert.deepEqual(stage.batches, [
    first,
    {
      progress: later.progress,
      warnings: [{ ...warning, ticker: "B" }],
      failures: [failure],
      counts: { warnings: {}, failures: { diverged: 1 } },
      epochs: { points: [point("A", 7), point("B", 4)], left_out: 2 },
    },
  ]);
  assert.deepEqual(stage.timings, timings);
});

const canceled = { problem: problemOf(new MucastError("canceled", "SIGTERM")) };
for (const [status, end, expected] of [
  ["Running", { record: RECORD }, "succeeded"],
  ["Failed", { record: RECORD }, "succeeded"],
  ["Succeeded", null, "lost"],
  // Another party stopped it.
  ["Stopped", canceled, "lost"],
] as const) {
  const word = end === null ? "no end" : Object.keys(end)[0];
  trial(`Azure's state ${status} and a status with ${word} end as ${expected}`, async (stage) => {
    const { execution, there } = await running(stage);
    there.properties.status = status;
    stage.say({ end });
    assert.equal(wordOf(await execution.ended), expected);
  });
}

trial(
  "it goes on through every state that is no end, and storms of faults, each reported once",
  async (stage) => {
    const { execution, there, looks } = await running(stage);
    for (const status of ["Processing", "Running", "Degraded", "Unknown", "SomethingNew"]) {
      there.properties.status = status;
      await looks(1);
    }
    const faults: Fault["answer"][] = [
      ...[{ status: 429 }, { status: 429 }, { status: 500 }, { status: 500 }, { status: 503 }],
      ...["cut" as const, { status: 403 }, { status: 200, body: {} }],
    ];
    const told = stage.troubles.length;
    for (const answer of faults) stage.api.fail("execution", { answer });
    await looks(faults.length);
    stage.say({ end: { record: RECORD } });
    there.properties.status = "Succeeded";
    assert.equal(wordOf(await execution.ended), "succeeded");
    const codes = stage.troubles.slice(told).map((text) => text.slice(0, 3));
    for (const code of ["429", "500", "403"])
      assert.equal(codes.filter((each) => each === code).length, 1, code);
    assert.doesNotMatch(inspect(stage.troubles), /SECRET/);
  },
);

trial("an end without a final status is lost with Azure's reason", async (stage) => {
  const { execution, there } = await running(stage);
  const containers = [{ name: "ml-worker-job", code: 137, additionalInformation: "OOMKilled" }];
  there.properties = {
    status: "Failed",
    reason: "BackoffLimitExceeded",
    detailedStatus: { replicas: [{ name: "r", containers }] },
  };
  const end = await execution.ended;
  assert.match(end.kind === "lost" ? end.reason : "", /Failed.*BackoffLimitExceeded.*137.*OOMKilled/);
});

trial(
  "an execution that is gone for good is lost; one that is not there yet is waited for",
  async (stage) => {
    const { execution, there } = await running(stage);
    there.hidden = 2;
    await stage.until(() => there.hidden < 0);
    stage.api.executions.length = 0;
    assert.deepEqual(await execution.ended, { kind: "lost", reason: "Azure knows no such execution" });
  },
);

trial("a stop is asked for until Azure accepts it, and the first reason counts", async (stage) => {
  const { execution, there } = await running(stage);
  stage.api.answers = 202;
  stage.api.stopping = ["Running", "Processing", "Stopped"];
  for (const answer of [{ status: 429 }, "cut", { status: 409 }] as const) stage.api.fail("stop", { answer });
  execution.stop("timed_out");
  execution.stop("canceled");
  assert.equal(wordOf(await execution.ended), "timed_out");
  assert.deepEqual([there.properties.status, stage.api.count("stop")], ["Stopped", 4]);
});

trial("a job that succeeded before its stop arrived has succeeded", async (stage) => {
  const { execution, there } = await running(stage);
  stage.api.stopping = ["Running", "Succeeded"];
  execution.stop("canceled");
  await stage.until(() => stage.api.count("stop") === 1);
  stage.say({ end: { record: RECORD } });
  there.properties.status = "Succeeded";
  assert.equal(wordOf(await execution.ended), "succeeded");
});

trial(
  "a later service adopts what was stopped, what Azure has dropped, and what it cannot be asked about",
  async (stage) => {
    const first = await stage.executor();
    const { handle } = await first.start(ORDER, stage);
    await first.close();
    stage.api.executions[0]!.properties.status = "Stopped";
    const stopped = await (await stage.executor()).adopt(ORDER, handle, stage);
    stopped!.stop("canceled");
    assert.equal(wordOf(await stopped!.ended), "canceled");
    stage.say({ end: { record: RECORD } });
    const dropped = await (await stage.executor()).adopt(ORDER, "ml-worker-job/ml-worker-job-old", stage);
    assert.equal(wordOf(await dropped!.ended), "succeeded");
    stage.api.fail("execution", { answer: { status: 503 } }, 3);
    const unknown = await (await stage.executor()).adopt(ORDER, handle, stage);
    assert.equal(wordOf(await unknown!.ended), "succeeded");
    assert.ok(stage.troubles.length > 0);
  },
);
