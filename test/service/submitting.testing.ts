import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StoredEvent } from "../../src/contract/api/stored-event.ts";
import type { Operation } from "../../src/contract/config/job-operations.ts";
import { collect, operationOf, problemOf } from "./api.testing.ts";
import { type Core, hold, release } from "./core.testing.ts";
import { payload, RIDGE } from "./inputs.testing.ts";

const forest = (features: string) =>
  `{"ML params": {"model": "rf", "n_splits": 1, "model_params": {"n_estimators": 3, "max_features": ${features}}}}`;

/** Submitting jobs, and their results. */
export function submitting(core: () => Core): void {
  describe("a job", () => {
    test("is accepted with 202, its position and when to poll, and leaves the output that its record names", async () => {
      const { api, serving } = core();
      const answer = await api.post("run_ml_job", core().own());
      const { id, ...taken } = operationOf(answer, [202]);
      assert.deepEqual([taken.operation, taken.result, taken.error], ["run_ml_job", null, null]);
      assert.equal(answer.headers.get("operation-location"), `${serving.url}/v1/operations/${id}`);
      assert.match(answer.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
      const ended = await api.ended(id);
      assert.equal(ended.status, "Succeeded", JSON.stringify(ended.error));
      const { execution_name, ...record } = ended.result!;
      const name = `ml_engine_${id}.json`;
      assert.deepEqual(record, {
        status: "Succeeded",
        output_url: `${serving.url}/data/${name}`,
        output_name: name,
      });
      assert.match(execution_name, /^ml-worker-job-[a-z0-9-]+$/);
      const output = await api.ask("GET", record.output_url);
      assert.equal(output.status, 200);
      const { mu, id: inside } = JSON.parse(output.text);
      assert.deepEqual([inside, Object.keys(mu)], [id, ["AAPL", "MSFT"]]);
      assert.ok(Object.values(mu).every(Number.isFinite));
      assert.ok(ended.created_at <= ended.started_at! && ended.started_at! <= ended.finished_at!);
    });

    test("answers 200 with the end if the caller waits and it ends in time, else 202", async () => {
      const { api } = core();
      const done = operationOf(await api.post("run_ml_job", core().own(), { prefer: "wait=60" }), [200]);
      assert.equal(done.status, "Succeeded");
      hold(core().storage, "waits");
      const body = payload(core().storage.url, "waits");
      const { id, status } = operationOf(await api.post("run_ml_job", body, { prefer: "wait=1" }), [202]);
      assert.match(status, /^(NotStarted|Running)$/);
      release(core().storage, "waits");
      assert.equal((await api.ended(id)).status, "Succeeded");
    });

    test("keeps the spelling of numbers: 1.0 of the features is all, 1 is one", async () => {
      const outputs = [];
      for (const spelt of ["1.0", "1"]) {
        const { result } = await core().api.submit(core().own(forest(spelt)), { prefer: "wait=60" });
        const { text } = await core().api.ask("GET", result!.output_url);
        assert.match(text, new RegExp(`"max_features":${spelt.replace(".", "\\.")}[,}]`));
        outputs.push(JSON.parse(text).mu);
      }
      assert.notDeepEqual(outputs[0], outputs[1]);
    });
  });

  test("operations are found by their tags, once they have ended too", async () => {
    const { api } = core();
    const tags = ["<b>nightly</b>", "a=1"];
    const { id } = await api.submit(JSON.stringify({ ...JSON.parse(core().own()), tags }));
    await api.ended(id);
    const list = async (query: string) => (await api.list(query)).operations.map((found) => found.id);
    assert.deepEqual(await list("?tag=a%3D1"), [id]);
    assert.deepEqual(await list("?tag=a%3D1&tag=%3Cb%3Enightly%3C%2Fb%3E"), [id]);
    assert.deepEqual(await list("?tag=a%3D1&tag=nightly"), []);
  });

  describe("an idempotency key", () => {
    const keyed = (key: string) => ({ "idempotency-key": key });

    test("returns the same operation for the same body, however it is spelt, even for twenty at once", async () => {
      const { api } = core();
      const first = await api.post("run_ml_job", core().own(), keyed("same"));
      const { id } = operationOf(first, [202]);
      const { feature_url, data_extractor_url } = JSON.parse(core().own());
      const respelt = `{ "config":${RIDGE}, "data_extractor_url": ${JSON.stringify(data_extractor_url)},\n"feature_url": ${JSON.stringify(feature_url)} }`;
      for (const body of [core().own(), respelt]) {
        const again = await api.post("run_ml_job", body, keyed("same"));
        assert.equal(operationOf(again, [202]).id, id);
        assert.equal(again.headers.get("operation-location"), first.headers.get("operation-location"));
      }
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => api.post("run_ml_job", core().own(), keyed("at-once"))),
      );
      assert.equal(new Set(answers.map((answer) => operationOf(answer, [202]).id)).size, 1);
    });

    test("refuses another body, another spelling of a number, another job", async () => {
      const { api } = core();
      await api.submit(core().own(forest("1")), keyed("other"));
      for (const [operation, body] of [
        ["run_ml_job", core().own()],
        ["run_ml_job", core().own(forest("1.0"))],
        ["run_dl_job", core().own('{"NN params": {"Dot prediction": {"current option": "mlp"}}}')],
      ] as [Operation, string][]) {
        problemOf(await api.post(operation, body, keyed("other")), 422, "idempotency_conflict");
      }
    });
  });

  describe("an invalid payload", () => {
    const count = async () => (await core().api.list("?limit=100")).operations.length;

    test("is refused with every fault at once, and nothing is queued", async () => {
      const before = await count();
      const config =
        '{"ML params": {"model": "ridge", "n_splits": 0, "modle_params": {}, "cv_test_size": "x"}}';
      const body = `{"feature_url": "${core().serving.url}/data/feature_engine_small.json", "extra": 1, "config": ${config}}`;
      const { faults } = problemOf(await core().api.post("run_ml_job", body), 400, "invalid_request");
      const paths = (faults as { path: string; suggestion?: string }[]).map(({ path }) => path);
      for (const path of [
        "data_extractor_url",
        "extra",
        "config.ML params.n_splits",
        "config.ML params.modle_params",
        "config.ML params.cv_test_size",
      ]) {
        assert.ok(paths.includes(path), `${path} is missing in ${paths.join(", ")}`);
      }
      assert.equal(await count(), before);
    });

    for (const [what, body, status, code] of [
      ["with an unknown model", () => core().own('{"ML params": {"model": "oracle"}}'), 400, "unknown_model"],
      [
        "with a parameter that the model does not have",
        () => core().own('{"ML params": {"model": "ridge", "model_params": {"depth": 3}}}'),
        400,
        "invalid_model_params",
      ],
      ["with blobs elsewhere", () => payload("https://evil.example/c", "x"), 400, "url_not_allowed"],
      [
        "with a config over 32 KiB",
        () => core().own(`{"ML params": {"model": "ridge"}, "other": {"x": "${"x".repeat(33_000)}"}}`),
        413,
        "too_large",
      ],
    ] as [string, () => string, number, string][]) {
      test(`${what} is ${code}`, async () => {
        const before = await count();
        problemOf(await core().api.post("run_ml_job", body()), status, code);
        assert.equal(await count(), before);
      });
    }
  });
}

/** The other kind of job. The tests of the store check on both databases what is stored of it. */
export function trainingNetworks(core: () => Core): void {
  test("a job can also train networks", async () => {
    const config = `{"NN params": {"Dot prediction": {"current option": "mlp", "global_settings": {"device": "cpu"},
      "training_params": {"epochs": 2}}}}`;
    const { id } = await core().api.submit(core().own(config), {}, "run_dl_job");
    const { status, result, error } = await core().api.ended(id);
    assert.equal(status, "Succeeded", JSON.stringify(error));
    assert.equal(result!.output_name, `nn_engine_${id}.json`);
    assert.match(result!.execution_name, /^dl-job-/);
    const events = (await collect(await core().api.events(id))).map(({ data }) => data as StoredEvent);
    const points = events.flatMap((event) => (event.type === "epochs" ? event.data.points : []));
    const { training } = JSON.parse((await core().api.ask("GET", result!.output_url)).text);
    for (const [ticker, { epochs }] of Object.entries<{ epochs: { train_loss: number }[] }>(training)) {
      const told = points.filter((point) => point.ticker === ticker);
      assert.deepEqual(
        told.map(({ ticker: _, ...point }) => point),
        epochs.map((losses, i) => ({ epoch: i + 1, ...losses })),
      );
    }
  });
}
