import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isFinal, type StoredEvent } from "../../src/contract/api/stored-event.ts";
import { collect, operationOf, type WireEvent } from "./api.testing.ts";
import type { Core } from "./core.testing.ts";

const dataOf = ({ data }: WireEvent) => data as StoredEvent;

/** Submitting jobs, their events and their results. */
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

    test("reports its events in order, from its queueing to its end, and then the stream closes", async () => {
      const { api } = core();
      const done = await api.submit(core().own(), { prefer: "wait=60" });
      const stream = await api.events(done.id);
      const events = await collect(stream);
      assert.match(stream.headers.get("content-type")!, /^text\/event-stream/);
      assert.deepEqual(
        events.map(({ id }) => id),
        events.map((_, i) => String(i + 1)),
      );
      assert.ok(events.every((event) => event.type === dataOf(event).type));
      assert.ok(events.every((event) => dataOf(event).operation_id === done.id));
      const types = events.map(({ type }) => type);
      assert.deepEqual([types[0], types[1], types.at(-1)], ["queued", "started", "succeeded"]);
      assert.deepEqual(dataOf(events.at(-1)!).data, done);
      assert.equal(types.filter((type) => isFinal(type as StoredEvent["type"])).length, 1);
    });
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
