import assert from "node:assert/strict";
import { inspect } from "node:util";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import { ORDER, RECORD, Stage, trial } from "./container-apps.testing.ts";
import { TOKEN } from "./fake-management-api.testing.ts";

/** Checks that no failure discloses a secret. */
async function failure(code: ErrorCode, attempt: Promise<unknown>): Promise<MucastError> {
  const error = await attempt.then(() => assert.fail("nothing was thrown")).catch((error: unknown) => error);
  assert.ok(error instanceof MucastError, String(error));
  assert.equal(error.code, code, error.message);
  const told = inspect(error, { depth: 20, showHidden: true }) + JSON.stringify(problemOf(error));
  assert.doesNotMatch(told, /SECRET/);
  return error;
}

trial("a start sends the job's whole template with the order in it, once", async () => {
  const stage = await Stage.open();
  const executor = await stage.executor();
  const execution = await executor.start(ORDER, stage);
  assert.equal(stage.api.count("start"), 1);
  const sent = JSON.parse(stage.api.requests.find(({ call }) => call === "start")!.body);
  assert.deepEqual(Object.keys(sent).sort(), ["containers", "initContainers"]);
  const { env, ...rest } = sent.containers[1];
  assert.deepEqual(rest, {
    image: "registry/mucast:0.1.0",
    name: "ml-worker-job",
    command: ["mucast"],
    args: ["run_ml_job", "--log", "json"],
    resources: { cpu: 2, memory: "4Gi" },
  });
  assert.ok(env.some((entry: { secretRef?: string }) => entry.secretRef === "password"));
  assert.ok(env.some((entry: { value?: string }) => entry.value === ORDER.config));
  assert.equal(execution.handle, `ml-worker-job/${stage.api.executions[0]!.name}`);
  assert.doesNotMatch(execution.handle, /SECRET/);
});

trial("run_dl_job runs as dl-job", async () => {
  const stage = await Stage.open();
  stage.api.jobs.set("dl-job", {
    location: "here",
    properties: { template: { containers: [{ name: "x" }] } },
  });
  const execution = await (await stage.executor()).start({ ...ORDER, operation: "run_dl_job" }, stage);
  assert.match(execution.handle, /^dl-job\/dl-job-/);
});

trial("a start that Azure answers later is waited for", async () => {
  const stage = await Stage.open();
  stage.api.answers = 202;
  const execution = await (await stage.executor()).start(ORDER, stage);
  assert.equal(stage.api.count("result"), 2);
  assert.equal(stage.api.count("start"), 1);
  assert.match(execution.handle, /^ml-worker-job\/ml-worker-job-/);
});

const UNANSWERED = [
  ["a cut connection", "start", { answer: "cut", after: true }],
  ["a request timeout", "start", { answer: { status: 408 }, after: true }],
  ["a result that is cut", "result", { answer: "cut" }],
] as const;

for (const [what, call, fault] of UNANSWERED) {
  trial(`after ${what} the execution that has started is found, and no other one started`, async () => {
    const stage = await Stage.open();
    stage.api.answers = call === "result" ? 202 : 200;
    stage.api.hidden = 5;
    stage.api.fail(call, fault);
    const execution = await (await stage.executor()).start(ORDER, stage);
    stage.api.fail("list", { answer: { status: 500 } });
    stage.api.fail("list", { answer: { status: 429 } });
    assert.equal(execution.handle, "ml-worker-job/");
    await stage.until(() => stage.api.count("execution") > 0);
    stage.say({ end: { record: RECORD } });
    assert.equal((await execution.ended).kind, "succeeded");
    assert.equal(stage.api.count("start"), 1);
    assert.equal(stage.api.executions.length, 1);
  });
}

trial("a start that was cut and did not happen is lost after a while", async () => {
  const stage = await Stage.open();
  stage.api.fail("start", { answer: "cut" });
  const execution = await (await stage.executor()).start(ORDER, stage);
  assert.deepEqual(await execution.ended, { kind: "lost", reason: "Azure knows no such execution" });
  assert.equal(stage.api.count("start"), 1);
});

trial("one whose start was not answered is found by a later service, by its handle or without", async () => {
  const stage = await Stage.open();
  stage.api.hidden = 3;
  stage.api.fail("start", { answer: "cut", after: true });
  const first = await stage.executor();
  const { handle } = await first.start(ORDER, stage);
  await first.close();
  const adopted = await (await stage.executor()).adopt(ORDER, handle, stage);
  await stage.until(() => stage.api.count("execution") > 0);
  const again = await (await stage.executor()).start(ORDER, stage);
  assert.equal(again.handle, `ml-worker-job/${stage.api.executions[0]!.name}`);
  stage.say({ end: { record: RECORD } });
  assert.equal((await adopted!.ended).kind, "succeeded");
  assert.equal(stage.api.executions.length, 1);
});

trial("an attempt that runs already is adopted among many pages of executions", async () => {
  const stage = await Stage.open();
  stage.api.pageSize = 2;
  const executor = await stage.executor();
  for (const id of ["a", "b", "c", "d"]) await executor.start({ ...ORDER, id }, stage);
  const first = await executor.start(ORDER, stage);
  const again = await (await stage.executor()).start(ORDER, stage);
  assert.equal(again.handle, first.handle);
  const next = await executor.start({ ...ORDER, attempt: 2 }, stage);
  assert.notEqual(next.handle, first.handle);
  assert.equal(stage.api.executions.length, 6);
});

const DENIED = { error: { code: "AuthorizationFailed", message: "The client has no permission" } };
const REFUSED = [
  ["list", { status: 503 }, /tried again later/],
  ["start", { status: 429 }, /tried again later/],
  ["job", { status: 403, body: DENIED }, /AuthorizationFailed.*identity the role/],
  ["job", { status: 404 }, /deploy the job/],
] as const;

for (const [call, answer, advice] of REFUSED) {
  trial(`after ${answer.status} of ${call} nothing runs, and the error says what to do`, async () => {
    const stage = await Stage.open();
    stage.api.fail(call, { answer });
    const error = await failure("unavailable", (await stage.executor()).start(ORDER, stage));
    assert.match(error.message, advice);
    assert.equal(stage.api.executions.length, 0);
  });
}

trial("missing credentials are unavailable, with what to do", async () => {
  const stage = await Stage.open();
  const credential = {
    getToken: async () => {
      const error = new Error("nothing is configured; client_secret=HIDDEN-SECRET was refused");
      throw Object.assign(error, { name: "CredentialUnavailableError" });
    },
  };
  const error = await failure("unavailable", (await stage.executor({ credential })).start(ORDER, stage));
  assert.match(error.message, /no credentials.*identity the role/);
  assert.equal(stage.api.requests.length, 0);
});

trial("an order that Azure refuses fails, and no word of it tells a secret that Azure quotes", async () => {
  const stage = await Stage.open();
  const quoted = `bad env ${ORDER.featureUrl} or ?sv=1\\u0026sig=SAS-SECRET or sig%3DSAS-SECRET, Bearer ${TOKEN}`;
  const body = { error: { code: "InvalidParameter", message: quoted } };
  stage.api.fail("start", { answer: { status: 400, body } });
  const error = await failure("internal", (await stage.executor()).start(ORDER, stage));
  assert.match(error.message, /400 InvalidParameter bad env/);
  assert.equal(stage.api.count("start"), 1);
});

trial("settings that are missing are an error at once", async () => {
  const stage = await Stage.open();
  const error = await failure("invalid_request", stage.executor({ subscription: undefined }));
  assert.match(error.message, /MUCAST_AZURE_SUBSCRIPTION/);
  await failure("invalid_request", stage.executor({ resourceGroup: "" }));
  const folder = await failure("invalid_request", stage.executor({ container: undefined }));
  assert.match(folder.message, /blob_url is required .* set BLOB_URL to an Azure container/);
});
