import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
  type OperationView,
  type VerdictView,
  verdictViewSchema,
} from "../../src/contract/api/operation-view.ts";
import type { VerdictOperation } from "../../src/contract/config/job-operations.ts";
import { IN_RELEASE_TIER } from "../whole-matrix.testing.ts";
import { collect, problemOf } from "./api.testing.ts";
import type { Core } from "./core.testing.ts";
import { eventuallyTrue } from "./eventually.testing.ts";
import { FEATURES, PRICES, payload, RIDGE } from "./inputs.testing.ts";
import { ownerOf, stillRunning } from "./processes.testing.ts";

/** One cut of a quick job, and no other check. */
const QUICK = { checks: ["truncation"], truncations: 1, quick: true };

const BOTH =
  '{"ML params": {"model": "ridge", "n_splits": 2}, "NN params": {"Dot prediction": {"current option": "mlp"}}}';

/** Audits and replays, which are operations like jobs. */
export function verdicts(core: () => Core): void {
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

  /** A job whose output can be replayed, and the URL of that output. */
  async function finishedJob(): Promise<{ job: OperationView; url: string; file: string }> {
    const job = await core().api.submit(core().own(), { prefer: "wait=60" });
    assert.equal(job.status, "Succeeded", JSON.stringify(job.error));
    const { output_url, output_name } = job.result!;
    return { job, url: output_url, file: join(core().serving.dataDir, "blobs/data", output_name) };
  }

  describe("an audit", () => {
    test(
      "leaves its verdict, reports its checks as stages, and has no forecast",
      IN_RELEASE_TIER,
      async () => {
        const options = { ...QUICK, checks: undefined, portable: true };
        const operation = await succeeded("audit", audited(core().own(), options));
        assert.match(operation.result!.execution_name, /^ml-worker-job-/);
        const { audit } = await verdictOf(operation);
        assert.deepEqual(Object.keys(audit!.checks), ["truncation", "restatement", "foresight", "skill"]);
        assert.deepEqual(
          [audit!.id, audit!.operation, audit!.checks.truncation!.facts.jobs, audit!.kernel_level],
          [operation.id, "run_ml_job", 2, "x86-64-v3"],
        );
        const events = await collect(await core().api.events(operation.id));
        assert.deepEqual([events[0]!.type, events.at(-1)!.type], ["queued", "succeeded"]);
        assert.equal(operation.progress?.stage, "write");
        const answer = await core().api.ask("GET", `/v1/operations/${operation.id}/forecast`);
        const { advice } = problemOf(answer, 409, "other_result");
        assert.match(String(advice), /get_verdict/);
      },
    );

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

    test("whose process is killed is retried, and leaves one verdict", IN_RELEASE_TIER, async () => {
      const key = "audit-killed";
      const { id } = await held(key);
      await core().storage.untilRequested(feature(key));
      const reader = ownerOf(core().storage.connection(feature(key)))!;
      process.kill(reader.pid, "SIGKILL");
      await eventuallyTrue("the reader ends", () => stillRunning([reader]).length === 0);
      await core().storage.untilRequested(feature(key), 2);
      core().storage.release(feature(key));
      const ended = await core().api.ended(id);
      assert.equal(ended.status, "Succeeded", JSON.stringify(ended.error));
      const types = (await collect(await core().api.events(id))).map(({ type }) => type);
      assert.equal(types.filter((type) => type === "started").length, 2);
      assert.equal((await verdictOf(ended)).audit!.verdict, "clean");
    });
  });

  describe("a replay", () => {
    test(
      "of an output of the service is identical, and different after one changed number",
      IN_RELEASE_TIER,
      async () => {
        const { job, url, file } = await finishedJob();
        const same = (await verdictOf(await succeeded("replay", JSON.stringify({ output_url: url }))))
          .replay!;
        assert.deepEqual([same.verdict, same.output.id, same.output.url], ["identical", job.id, url]);
        const output = JSON.parse(readFileSync(file, "utf8"));
        output.mu.AAPL += 2 ** -60;
        writeFileSync(file, JSON.stringify(output));
        const other = (await verdictOf(await succeeded("replay", JSON.stringify({ output_url: url }))))
          .replay!;
        assert.deepEqual([other.verdict, other.reason?.code], ["differs", "defect"]);
        assert.equal(other.differences!.first.path, "mu.AAPL");
        problemOf(await core().api.ask("GET", `/v1/operations/${job.id}/verdict`), 409, "other_result");
      },
    );

    test("of a portable job also pins the kernels", IN_RELEASE_TIER, async () => {
      const body = audited(core().own(), { portable: true });
      const job = await core().api.submit(body, { prefer: "wait=60" });
      assert.equal(job.status, "Succeeded", JSON.stringify(job.error));
      const output_url = job.result!.output_url;
      const { provenance } = JSON.parse((await core().api.ask("GET", output_url)).text);
      assert.equal(provenance.kernel_level, "x86-64-v3");
      const { replay } = await verdictOf(await succeeded("replay", JSON.stringify({ output_url })));
      assert.equal(replay!.verdict, "identical", JSON.stringify(replay!.reason));
    });

    test("uses given inputs, and reports that they differ", async () => {
      const { api, serving } = core();
      const { url } = await finishedJob();
      const name = "feature_engine_other.json";
      const small = await api.ask("GET", "/data/feature_engine_small.json");
      await api.put(
        name,
        small.text.replace(/(\d)(?=[,\]}])/, (digit) => (digit === "1" ? "2" : "1")),
      );
      const body = JSON.stringify({ output_url: url, feature_url: `${serving.url}/data/${name}` });
      const { replay } = await verdictOf(await succeeded("replay", body));
      assert.deepEqual([replay!.verdict, replay!.reason?.code], ["differs", "inputs"]);
      assert.equal(replay!.inputs!.feature.change!.values, 1);
    });

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
