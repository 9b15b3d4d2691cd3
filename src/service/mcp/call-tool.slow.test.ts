import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Client } from "@modelcontextprotocol/client";
import type { ForecastView } from "../../contract/api/forecast-view.ts";
import type { OperationPage, OperationView, VerdictView } from "../../contract/api/operation-view.ts";
import { API_OPERATIONS } from "../../contract/api/operations.ts";
import { FORECAST, ML_PAYLOAD } from "../http/examples.ts";
import { type Listening, listen } from "../http/listening.testing.ts";
import { call, connect, refused } from "./client.testing.ts";

let service: Listening;

before(async () => {
  service = await listen();
});
after(() => service.close());

for (const [mode, revision] of [
  ["legacy", "with an initialize"],
  ["auto", "without one"],
] as const) {
  describe(`the SDK's client over HTTP, in the revision ${revision}`, () => {
    let client: Client;
    before(async () => {
      client = await connect(service, mode);
    });
    after(() => client.close());

    test("finds a tool for every operation, and instructions for them", async () => {
      const { tools } = await client.listTools();
      assert.deepEqual(
        tools.map(({ name }) => name),
        Object.keys(API_OPERATIONS),
      );
      for (const { name, description, inputSchema } of tools) {
        assert.equal(description, API_OPERATIONS[name as keyof typeof API_OPERATIONS].description);
        assert.equal(inputSchema.type, "object");
      }
      assert.ok(client.getInstructions()!.includes(`PUT ${service.origin}/data/<name>`));
      assert.deepEqual(client.getServerVersion()?.name, "mucast");
    });

    test("runs a job, reads it, finds it in the list and cancels it", async () => {
      const submitted = await call(client, "run_ml_job", ML_PAYLOAD);
      assert.equal(submitted.value.status, "NotStarted");
      const { id } = submitted.value;
      assert.match(submitted.text, new RegExp(`^run_ml_job ${id}: NotStarted\\. Ask get_operation`));
      service.operations.start(id);
      assert.equal((await call(client, "get_operation", { id })).value.status, "Running");
      const page = await call<OperationPage>(client, "list_operations", { status: "Running" });
      assert.deepEqual(
        page.value.operations.map((operation) => operation.id),
        [id],
      );
      assert.ok(page.text.startsWith(`${id} run_ml_job Running, created 2`));
      await call(client, "cancel_operation", { id });
      service.operations.end(id, "Canceled");
      const ended = await call(client, "get_operation", { id });
      assert.equal(ended.isError, false);
      assert.match(ended.text, /: Canceled\./);
    });

    test("reads the forecast of a job, and gets a problem where there is none yet", async () => {
      const { id } = (await call(client, "run_ml_job", ML_PAYLOAD)).value;
      const early = await refused(client, "get_forecast", { id });
      assert.deepEqual([early.code, early.status, early.operation_status], ["no_result", 409, "NotStarted"]);
      service.operations.start(id);
      service.operations.end(id);
      const { value, text } = await call<ForecastView>(client, "get_forecast", {
        id,
        tickers: ["AAPL", "B"],
      });
      assert.deepEqual(value, { ...FORECAST, id, count: 2 });
      assert.match(
        text,
        /^run_ml_job \S+ as of 2026-01-05: 1 of 2 tickers with a mu\.\n"AAPL" mu 0\.00123, hit rate 0\.5139 ± 0\.0315 \(0\.5321 of the returns were up\)/,
      );
      assert.match(text, /, coverage 0\.897, shrinkage 0\.14 \(slope 0\.41 ± 0\.27\)\n/);
      assert.match(text, /\nAll tickers: .*; shrinkage 0\.11 \(slope 0\.19 ± 0\.08\)\.$/);
      const both = await refused(client, "get_forecast", { id, tickers: [], limit: 51 });
      assert.deepEqual((both.faults as { path: string }[]).map(({ path }) => path).sort(), [
        "arguments.limit",
        "arguments.limit",
        "arguments.tickers",
      ]);
      const unclear = await refused(client, "get_forecast", { id, tickers: ["A"], limit: 1 });
      assert.match(unclear.detail, /^arguments\.limit: give tickers or limit, not both/);
    });

    test("replays an output by its URL alone, and reads the verdict", async () => {
      const output_url = "https://a.example/c/data/ml_engine_1.json";
      const { value, text } = await call<OperationView>(client, "replay", { output_url });
      assert.equal(value.operation, "replay");
      assert.match(text, /^replay \S+: NotStarted\. Ask get_operation/);
      assert.equal((await refused(client, "get_verdict", { id: value.id })).code, "no_result");
      service.operations.start(value.id);
      service.operations.end(value.id);
      const done = await call<OperationView>(client, "get_operation", { id: value.id });
      assert.match(done.text, /The verdict is the blob \S+; get_verdict gives it\./);
      const verdict = await call<VerdictView>(client, "get_verdict", { id: value.id });
      assert.equal(verdict.value.replay?.verdict, "identical");
      assert.match(verdict.text, /^replay \S+: identical\.\n734 numbers compared\.$/);
      const audit = { ...ML_PAYLOAD, config: JSON.stringify(ML_PAYLOAD.config), chekcs: ["skill"] };
      const { faults } = await refused(client, "audit", audit);
      assert.deepEqual(faults, [
        {
          path: "chekcs",
          message: (faults as { message: string }[])[0]!.message,
          suggestion: "checks",
        },
      ]);
    });

    test("gets every fault of a payload at once, as a problem", async () => {
      let nested: unknown = [];
      for (let depth = 0; depth < 1_900; depth++) nested = [nested];
      const deep = await refused(client, "run_ml_job", { ...ML_PAYLOAD, feature_url: nested });
      assert.match(deep.detail, /more than 65 levels/, JSON.stringify(deep));
      const wrapped = await refused(client, "run_ml_job", { ...ML_PAYLOAD, feature_url: { url: "f" } });
      assert.match(wrapped.detail, /feature_url: must be .*, got \{"url":"f"\}/);
      const config = { "ML params": { model: "ridge", n_split: 3, cv_test_size: 0 } };
      const problem = await refused(client, "run_ml_job", { ...ML_PAYLOAD, feature_url: undefined, config });
      assert.equal(problem.code, "invalid_request");
      assert.deepEqual((problem.faults as { path: string }[]).map(({ path }) => path).sort(), [
        "config.ML params.cv_test_size",
        "config.ML params.n_split",
        "feature_url",
      ]);
      assert.match(problem.advice, /Correct/);
    });

    test("gets the same operation for the same idempotency key", async () => {
      const first = await call(client, "run_ml_job", { ...ML_PAYLOAD, idempotency_key: `${mode}-1` });
      const second = await call(client, "run_ml_job", { ...ML_PAYLOAD, idempotency_key: `${mode}-1` });
      assert.equal(second.value.id, first.value.id);
      const other = { ...ML_PAYLOAD, feature_url: ML_PAYLOAD.data_extractor_url };
      const problem = await refused(client, "run_ml_job", { ...other, idempotency_key: `${mode}-1` });
      assert.deepEqual([problem.code, problem.status], ["idempotency_conflict", 422]);
      const key = await refused(client, "run_ml_job", { ...ML_PAYLOAD, idempotency_key: "a key" });
      assert.deepEqual([key.code, key.path], ["invalid_request", "idempotency_key"]);
    });

    test("gets no details of a defect, which the log has", async () => {
      service.operations.failure = new Error("the inside of the service");
      const problem = await refused(client, "get_operation", { id: "one" });
      assert.equal(problem.code, "internal");
      assert.doesNotMatch(JSON.stringify(problem), /inside of the service/);
      assert.ok(service.logged.some((line) => line.includes(String(problem.id))));
    });
  });
}
