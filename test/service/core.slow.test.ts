/**
 * What a service promises while it runs: about operations on both databases (in `npm test` on SQLite), and about everything that is the
 * same on both, where the suites share a service that runs one job at a time.
 */

import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type MucastApiError, MucastClient } from "../../src/client/index.ts";
import {
  type OperationView,
  type VerdictView,
  verdictViewSchema,
} from "../../src/contract/api/operation-view.ts";
import { isFinal, type StoredEvent } from "../../src/contract/api/stored-event.ts";
import type { VerdictOperation } from "../../src/contract/config/job-operations.ts";
import { WHOLE_MATRIX } from "../whole-matrix.testing.ts";
import { collect, operationOf, problemOf, type WireEvent } from "./api.testing.ts";
import { type Core, startCore } from "./core.testing.ts";
import { DATABASES, SQLITE } from "./databases.testing.ts";
import { eventuallyTrue } from "./eventually.testing.ts";
import { FEATURES, PRICES, payload, RIDGE } from "./inputs.testing.ts";
import { ownerOf, stillRunning } from "./processes.testing.ts";
import { quickStart } from "./quick-start.testing.ts";
import { endServices, untilFolderIsUnused } from "./service.testing.ts";
import type { Behaviour } from "./storage.testing.ts";

const dataOf = ({ data }: WireEvent) => data as StoredEvent;

/** Submitting jobs, their events and their results. */
function submitting(core: () => Core): void {
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
function trainingNetworks(core: () => Core): void {
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

/** Stopping jobs, in every state. */
function cancelling(core: () => Core): void {
  const outputOf = ({ id }: OperationView) =>
    join(core().serving.dataDir, "blobs/data", `ml_engine_${id}.json`);

  function assertCanceled(operation: OperationView): void {
    assert.deepEqual([operation.status, operation.error?.code], ["Canceled", "canceled"]);
    assert.ok(operation.finished_at !== null && operation.result === null);
    assert.ok(!existsSync(outputOf(operation)));
  }

  describe("cancel", () => {
    test("ends a running operation once its job has stopped, even if requested twice, and events report the request", async () => {
      const { api } = core();
      const { operation } = await core().heldRunning();
      for (let i = 0; i < 2; i++) {
        assert.match((await api.cancel(operation.id)).status, /^(Running|Canceled)$/);
      }
      const canceled = await api.ended(operation.id);
      assertCanceled(canceled);
      assert.deepEqual(await api.cancel(operation.id), canceled);
      const types = (await collect(await api.events(operation.id))).map(({ type }) => type);
      assert.deepEqual(
        types.filter((type) => type !== "progress"),
        ["queued", "started", "cancel_requested", "canceled"],
      );
    });

    test("racing with success ends completely in one of the two", async () => {
      const { api } = core();
      for (const stages of [/read|fit|evaluate|write/, /write/]) {
        const { operation, release } = await core().heldRunning();
        release();
        await api.once(
          operation.id,
          ({ status, progress }) => status !== "Running" || stages.test(progress?.stage ?? ""),
        );
        await api.cancel(operation.id);
        const ended = await api.ended(operation.id);
        if (ended.status === "Succeeded") {
          assert.equal((await api.ask("GET", ended.result!.output_url)).status, 200);
        } else {
          assertCanceled(ended);
        }
      }
    });
  });
}

/** The typed client on a real service. */
function typedClient(core: () => Core): void {
  describe("the client", () => {
    let client: MucastClient;
    let urls: { feature_url: string; data_extractor_url: string };

    before(async () => {
      client = new MucastClient({ baseUrl: core().serving.url });
      const put = async (name: string, text: string) => (await client.putBlob(name, text)).url;
      urls = {
        feature_url: await put("feature_engine_c.json", FEATURES),
        data_extractor_url: await put("data_extractor_c.json", PRICES),
      };
    });

    test("uploads, runs, follows and reads", async () => {
      assert.equal((await client.putBlob("feature_engine_c.json", FEATURES)).created, false);
      const types: string[] = [];
      const onEvent = ({ type }: { type: string }) => types.push(type);
      const { id, result, warnings } = await client.runAndWait(
        "run_ml_job",
        { ...urls, config: RIDGE },
        { onEvent },
      );
      assert.deepEqual([types[0], types[1], types.at(-1)], ["queued", "started", "succeeded"]);
      assert.ok(Array.isArray(warnings));
      const { mu } = (await (await client.getBlob(result!.output_name)).json()) as {
        mu: Record<string, number>;
      };
      assert.deepEqual(Object.keys(mu), ["AAPL", "MSFT"]);
      assert.match(await client.getReport(id), /^<!doctype html>.*<h2 id="verdict">Verdict/s);
      const seqs: number[] = [];
      for await (const { seq } of client.events(id, { lastEventId: 1 })) seqs.push(seq);
      assert.deepEqual(
        seqs,
        seqs.map((_, index) => index + 2),
      );
      assert.equal((await client.events(id, { lastEventId: seqs.at(-1) }).next()).done, true);
    });

    test("prepares a price CSV into blobs that a job accepts, and names the faulty line", async () => {
      const day = (i: number) => new Date(Date.UTC(2020, 0, 1 + i)).toISOString().slice(0, 10);
      const rows = Array.from(
        { length: 260 },
        (_, i) => `${day(i)},${100 + Math.sin(i)},${50 + Math.cos(3 * i)}`,
      );
      const csv = ["Date,A,B", ...rows].join("\n");
      const prepared = await client.prepare(csv, { learning_end: day(240) });
      assert.deepEqual(
        [prepared.tickers, prepared.dates, prepared.learning_end, prepared.warnings, prepared.written],
        [["A", "B"], 260, day(240), [], true],
      );
      assert.equal((await client.prepare(csv, { learning_end: day(240) })).written, false);
      const { feature_url, data_extractor_url } = prepared;
      const operation = await client.runAndWait("run_ml_job", {
        feature_url,
        data_extractor_url,
        config: RIDGE,
      });
      assert.deepEqual(Object.keys((await client.output(operation)).mu), ["A", "B"]);
      await assert.rejects(client.prepare(`${csv}\n${rows[0]}`), (error: MucastApiError) => {
        assert.match(error.problem.detail, /^prices\.csv: line 262 gives A a second price/);
        return error.code === "invalid_data";
      });
    });
  });
}

function storageFaults(core: () => Core): void {
  describe("storage", () => {
    function assertFailed(ended: OperationView, code: string): void {
      assert.deepEqual([ended.status, ended.error?.code, ended.result], ["Failed", code, null]);
      const data = join(core().serving.dataDir, "blobs/data");
      assert.deepEqual(
        readdirSync(data).filter((name) => name.includes(ended.id)),
        [],
      );
    }

    const cut = Math.floor(FEATURES.length / 2);
    const faults: readonly (readonly [string, Behaviour, string])[] = [
      ["that answers 503 again and again", { kind: "status", status: 503 }, "blob_unavailable"],
      ["that has no such blob", { kind: "status", status: 404 }, "blob_not_found"],
      ["whose blob changes between two ranges", { kind: "replace", after: cut }, "blob_unavailable"],
    ];
    for (const [i, [what, behaviour, code]] of faults.entries()) {
      test(`${what} fails the operation with ${code}`, async () => {
        const { api, storage } = core();
        storage.put(`data_extractor_fault${i}.json`, PRICES);
        storage.put(`feature_engine_fault${i}.json`, FEATURES, behaviour);
        const { id } = await api.submit(payload(storage.url, `fault${i}`));
        const ended = await api.ended(id);
        assertFailed(ended, code);
        assert.match(String(ended.error!.source), new RegExp(`feature_engine_fault${i}\\.json$`));
      });
    }

    test("that stalls keeps the job Running, and cancel still stops it", async () => {
      const { api, storage } = core();
      storage.put("data_extractor_stall.json", PRICES);
      storage.put("feature_engine_stall.json", FEATURES, { kind: "stall", after: 1_000 });
      const { id } = await api.submit(payload(storage.url, "stall"));
      await storage.untilRequested("feature_engine_stall.json");
      await api.cancel(id);
      assert.equal((await api.ended(id)).status, "Canceled");
    });
  });
}

/** Limits that need jobs or the process of a service; the tests of the routes have the others. */
function limits(core: () => Core): void {
  describe("limits", () => {
    test("of queued operations: rate_limited with Retry-After, until some have ended", async () => {
      const { api } = core();
      const held = await core().heldRunning();
      await eventuallyTrue(
        "nothing waits",
        async () => (await api.list("?status=NotStarted")).operations.length === 0,
      );
      const waiting = [];
      for (let i = 0; i < 12; i++) waiting.push(await api.submit(core().own()));
      const refused = await api.post("run_ml_job", core().own());
      problemOf(refused, 429, "rate_limited");
      assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
      for (const { id } of waiting.slice(0, 10)) await api.cancel(id);
      await api.submit(core().own());
      held.release();
      for (const { id } of waiting.slice(10)) assert.equal((await api.ended(id)).status, "Succeeded");
    });

    test("of the tickers of a blob, even if a job process reads it", async () => {
      const { api, storage } = core();
      storage.put("feature_engine_many.json", FEATURES);
      const prices = Array.from({ length: 51 }, (_, i) => [`T${i}`, { dates: [], close: [] }]);
      storage.put("data_extractor_many.json", JSON.stringify(Object.fromEntries(prices)));
      const { id } = await api.submit(payload(storage.url, "many"));
      const { error } = await api.ended(id);
      assert.deepEqual([error?.code, error?.ticker], ["too_large", "T50"]);
      assert.match(error!.detail, /one more than the 50 tickers .*MUCAST_BLOB_TICKERS/);
    });
  });
}

/** One cut of a quick job, and no other check. */
const QUICK = { checks: ["truncation"], truncations: 1, quick: true };

const BOTH =
  '{"ML params": {"model": "ridge", "n_splits": 2}, "NN params": {"Dot prediction": {"current option": "mlp"}}}';

/** Audits and replays, which are operations like jobs. */
function verdicts(core: () => Core): void {
  const audited = (text: string, options: object) => JSON.stringify({ ...JSON.parse(text), ...options });

  async function succeeded(operation: VerdictOperation, body: string): Promise<OperationView> {
    const { id } = await core().api.submit(body, {}, operation);
    const ended = await core().api.ended(id);
    assert.equal(ended.status, "Succeeded", JSON.stringify(ended.error));
    assert.equal(ended.result!.output_name, `${operation}_${id}.json`);
    assert.equal(ended.result!.output_url, `${core().serving.url}/data/${operation}_${id}.json`);
    return ended;
  }

  async function verdictOf({ id, result }: OperationView): Promise<VerdictView> {
    const answer = await core().api.ask("GET", `/v1/operations/${id}/verdict`);
    assert.equal(answer.status, 200, answer.text);
    const view = verdictViewSchema.parse(JSON.parse(answer.text));
    const stored = await core().api.ask("GET", result!.output_url);
    assert.deepEqual(view.audit ?? view.replay, JSON.parse(stored.text));
    return view;
  }

  describe("an audit", () => {
    test("compares with an earlier day, and audits the requested job of a config for both", async () => {
      const { url } = core().serving;
      const previous = {
        previous_feature_url: `${url}/data/feature_engine_small.json`,
        previous_data_extractor_url: `${url}/data/data_extractor_small.json`,
      };
      const options = { ...QUICK, ...previous, checks: ["restatement"], operation: "run_dl_job" };
      const operation = await succeeded("audit", audited(core().own(BOTH), options));
      assert.match(operation.result!.execution_name, /^dl-job-/);
      const { audit } = await verdictOf(operation);
      assert.equal(audit!.checks.restatement!.status, "clean");
      assert.equal(audit!.inputs.previous_feature!.url, previous.previous_feature_url);
    });

    /** An audit that waits for its features. */
    async function held(key: string): Promise<OperationView> {
      core().storage.put(`data_extractor_${key}.json`, PRICES);
      core().storage.put(feature(key), FEATURES, { kind: "hold" });
      return core().api.submit(audited(payload(core().storage.url, key), QUICK), {}, "audit");
    }

    const feature = (key: string) => `feature_engine_${key}.json`;

    test("that is cancelled while it runs leaves no verdict", async () => {
      const { id } = await held("audit-canceled");
      await core().storage.untilRequested(feature("audit-canceled"));
      await core().api.cancel(id);
      const ended = await core().api.ended(id);
      assert.deepEqual([ended.status, ended.error?.code], ["Canceled", "canceled"]);
      problemOf(await core().api.ask("GET", `/v1/operations/${id}/verdict`), 409, "no_result");
      problemOf(await core().api.ask("GET", `/data/audit_${id}.json`), 404, "not_found");
    });
  });

  describe("a replay", () => {
    test("of a missing output fails, and one of a foreign URL or another name is refused", async () => {
      const { api, serving } = core();
      const gone = `${serving.url}/data/ml_engine_gone.json`;
      const { id } = await api.submit(JSON.stringify({ output_url: gone }), {}, "replay");
      const ended = await api.ended(id);
      assert.deepEqual([ended.status, ended.error?.code], ["Failed", "blob_not_found"]);
      for (const output_url of [
        "https://evil.example/c/data/ml_engine_1.json?sig=secret",
        `${serving.url}/data/feature_engine_small.json`,
        `${serving.url}/data/replay_${id}.json`,
        "file:///etc/passwd",
      ]) {
        const answer = await api.post("replay", JSON.stringify({ output_url }));
        const { path } = problemOf(answer, 400, "url_not_allowed");
        assert.equal(path, "output_url");
        assert.ok(!answer.text.includes("secret"));
      }
      problemOf(await api.post("replay", RIDGE), 400, "invalid_request");
    });
  });
}

/** The last suite of its service, which it ends. */
function killedJobs(core: () => Core): void {
  describe("a killed process", () => {
    /** Kills the process that reads a held blob for its job. */
    async function killReader(key: string, times: number): Promise<void> {
      const name = `data_extractor_${key}.json`;
      await core().storage.untilRequested(name, times);
      const reader = ownerOf(core().storage.connection(name))!;
      assert.notEqual(reader.pid, core().serving.pid, "jobs run in processes of their own");
      process.kill(reader.pid, "SIGKILL");
      await eventuallyTrue("the reader ends", () => stillRunning([reader]).length === 0);
    }

    async function startedAttempts(id: string): Promise<number> {
      const events = await collect(await core().api.events(id));
      return events.filter(({ type }) => type === "started").length;
    }

    test("of a job, once: it is retried and succeeds", async () => {
      const { operation, key, release } = await core().heldJob();
      await killReader(key, 1);
      await core().storage.untilRequested(`data_extractor_${key}.json`, 2);
      release();
      const ended = await core().api.ended(operation.id);
      assert.equal(ended.status, "Succeeded", JSON.stringify(ended.error));
      assert.equal(await startedAttempts(operation.id), 2);
    });

    test("of a job, twice: Failed, execution_lost, no output", async () => {
      const { operation, key } = await core().heldJob();
      await killReader(key, 1);
      await killReader(key, 2);
      const ended = await core().api.ended(operation.id);
      assert.deepEqual([ended.status, ended.error?.code], ["Failed", "execution_lost"]);
      const output = join(core().serving.dataDir, "blobs/data", `ml_engine_${operation.id}.json`);
      assert.ok(!existsSync(output));
    });

    test("leaves nothing behind once the service has ended", async () => {
      assert.deepEqual(await core().serving.terminate(), { code: 0, signal: null });
      await untilFolderIsUnused(core().serving.folder);
    });
  });
}

const OF_OPERATIONS = [submitting, cancelling];

const SUITES = {
  SQLite: [
    ...OF_OPERATIONS,
    // In `npm test`, who-may.slow.test.ts starts a service and follows its quick start, with keys.
    ...(WHOLE_MATRIX ? [trainingNetworks, quickStart] : []),
    typedClient,
    storageFaults,
    limits,
    verdicts,
    killedJobs,
  ],
  PostgreSQL: OF_OPERATIONS,
};

for (const database of WHOLE_MATRIX ? DATABASES : [SQLITE]) {
  describe(`on ${database.name}`, { timeout: 900_000 }, () => {
    let core: Core;
    before(async () => {
      await database.begin();
      core = await startCore(database, { jobs: 1, limited: true });
    });
    after(async () => {
      await endServices();
      await core?.storage.stop();
      await database.end();
    });
    for (const suite of SUITES[database.name]) suite(() => core);
  });
}
