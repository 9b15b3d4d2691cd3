import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type OperationView,
  type VerdictView,
  verdictViewSchema,
} from "../../src/contract/api/operation-view.ts";
import type { VerdictOperation } from "../../src/contract/config/job-operations.ts";
import { problemOf } from "./api.testing.ts";
import type { Core } from "./core.testing.ts";
import { FEATURES, PRICES, payload, RIDGE } from "./inputs.testing.ts";

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
