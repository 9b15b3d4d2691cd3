/** Outputs in a real MLflow server, read back through its REST API. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { dlText, mlText } from "../../src/outputs/outputs.testing.ts";
import { jobArguments, mucast } from "../end-to-end/commands/command.ts";
import { type MlflowServer, startMlflow } from "../servers/mlflow.testing.ts";
import { claimPort } from "../servers/port.testing.ts";
import { Api } from "../service/api.testing.ts";
import { eventually, eventuallyTrue } from "../service/eventually.testing.ts";
import { payload, putInputs } from "../service/inputs.testing.ts";
import { endServices, startServe } from "../service/service.testing.ts";
import { metricHistory, recordedRuns, storedArtifacts } from "./recorded-runs.testing.ts";

describe("outputs in MLflow", { timeout: 600_000 }, () => {
  let server: MlflowServer;
  let folder: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "mucast-tracking-"));
    server = await startMlflow();
  });
  after(async () => {
    await endServices();
    await server?.stop();
    rmSync(folder, { recursive: true });
  });

  function stored(name: string, text: string): string {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  }

  async function exported(output: string, experiment: string) {
    const env = { ...server.env, MLFLOW_EXPERIMENT_NAME: experiment };
    const { code, stdout, stderr } = await mucast(["export", "--output", output, "--mlflow"], { env });
    assert.equal(code, 0, stderr);
    assert.ok(!stdout.includes(server.env.MLFLOW_TRACKING_PASSWORD));
    return JSON.parse(stdout).mlflow;
  }

  test("an output is one run with its params, tags, metrics by fold, and both artifacts", async () => {
    const market = { tickers: ["AAA", "BRK/B", "Ünï"], config: { intervals: { alpha: 0.2 } } };
    const output = { ...JSON.parse(mlText(market)), tags: ["daily", "desk a"] };
    const path = stored("ml_engine_1.json", JSON.stringify(output));
    const first = await exported(path, "regressors");
    assert.deepEqual([first.created, first.artifacts, first.experiment], [true, true, "regressors"]);
    assert.deepEqual(await exported(path, "regressors"), { ...first, created: false });
    const [run, ...others] = await recordedRuns(server, "regressors");
    assert.deepEqual(others, []);
    assert.deepEqual([run!.id, run!.status, run!.name], [first.run_id, "FINISHED", "ml_engine_1"]);
    assert.equal(run!.params.model, "ridge");
    assert.equal(run!.params["intervals.alpha"], "0.2");
    assert.equal(run!.tags["mucast.feature_sha256"], output.provenance.feature_sha256);
    assert.equal(run!.tags["mucast.verdict"], output.verdict.state);
    const filter = `tags."mucast.tags" LIKE '%"desk a"%'`;
    assert.deepEqual(await recordedRuns(server, "regressors", filter), [run]);
    assert.equal(run!.metrics["score/rmse"], output.metrics.score.pooled.rmse);
    assert.equal(run!.metrics["intervals/coverage"], output.metrics.intervals.pooled.coverage);
    const history = await metricHistory(server, run!.id, "fold/rmse");
    const byFold = [0, 1, 2].map((k) => {
      const ofTickers = ["AAA", "BRK/B", "Ünï"].map(
        (ticker) => output.cross_validation[ticker].folds[k].rmse,
      );
      return { step: k + 1, value: ofTickers.toSorted((a, b) => a - b)[1] };
    });
    assert.deepEqual(history, byFold);
    const artifacts = await storedArtifacts(server, run!.id);
    assert.deepEqual([...artifacts.keys()].sort(), ["ml_engine_1.html", "ml_engine_1.json"]);
    assert.ok(artifacts.get("ml_engine_1.json")!.equals(readFileSync(path)));
    const report = join(folder, "report.html");
    const drawn = await mucast(["report", "--output", path, "--out", report]);
    assert.equal(drawn.code, 0, drawn.stderr);
    assert.ok(artifacts.get("ml_engine_1.html")!.equals(readFileSync(report)));
  });

  test("networks have their losses by epoch", async () => {
    const text = dlText({ tickers: ["A"] }, 1_200);
    const output = JSON.parse(text);
    const { run_id } = await exported(stored("nn_engine_1.json", text), "networks");
    const losses = await metricHistory(server, run_id, "epoch/validation_loss");
    assert.equal(losses.length, 1_200);
    for (const { step, value } of losses) {
      assert.equal(value, output.training.A.epochs[step - 1].validation_loss);
    }
    assert.deepEqual([losses[0]!.step, losses.at(-1)!.step], [1, 1_200]);
  });

  test("values beyond the limits of MLflow are accepted", async () => {
    const output = JSON.parse(mlText());
    const params = Object.fromEntries(Array.from({ length: 300 }, (_, k) => [`p${k}`, null]));
    output.model = { ...output.model, model: "m".repeat(9_000), text: "😀".repeat(4_000), ...params };
    const { run_id } = await exported(stored("ml_engine_2.json", JSON.stringify(output)), "limits");
    const [run] = await recordedRuns(server, "limits");
    assert.equal(run!.id, run_id);
    assert.equal(run!.params.text!.length, 6_000);
    assert.equal(run!.tags["mucast.model"]!.length, 8_000);
    assert.equal(run!.params.p299, "null");
  });

  test("a command records its job, and a service records the jobs of its callers", async () => {
    const [tiny, place] = ["test/cases/tiny/data", join(folder, "blobs")];
    const pair = {
      folder: place,
      features: `${tiny}/feature_engine_tiny.json`,
      prices: `${tiny}/data_extractor_tiny.json`,
    };
    const config = '{"ML params": {"model": "ridge", "n_splits": 2}}';
    const command = await mucast(jobArguments(pair, config, "--blob-url", place, "--tag", "command"), {
      env: { ...server.env, MLFLOW_EXPERIMENT_NAME: "command", OPERATION_ID: "7" },
    });
    assert.equal(command.code, 0, command.stderr);
    const [own] = await recordedRuns(server, "command");
    assert.ok(command.stderr.includes(`/runs/${own!.id}\n`), command.stderr);
    assert.equal(own!.tags["mucast.tags"], '["command"]');
    const written = readFileSync(join(place, "data/ml_engine_7.json"));
    assert.ok((await storedArtifacts(server, own!.id)).get("ml_engine_7.json")!.equals(written));

    const service = await startServe({ env: server.env });
    const api = new Api(service.url);
    await putInputs(api, "1");
    const { id } = await api.submit(payload(service.url, "1"));
    const { status } = await api.ended(id);
    assert.equal(status, "Succeeded");
    const name = `ml_engine_${id}`;
    const [run] = await eventually("the run of the service", async () => {
      const runs = await recordedRuns(server);
      return runs[0]?.status === "FINISHED" ? runs : undefined;
    });
    assert.equal(run!.tags["mucast.id"], id);
    const artifacts = await storedArtifacts(server, run!.id);
    const { text } = await api.ask("GET", `/data/${name}.json`);
    assert.equal(artifacts.get(`${name}.json`)!.toString(), text);
    const report = await api.ask("GET", `/v1/operations/${id}/report`);
    assert.equal(artifacts.get(`${name}.html`)!.toString(), report.text);
    assert.ok(!service.logs().includes('"level":"warn"'), service.logs());
    assert.ok(!service.logs().includes(server.env.MLFLOW_TRACKING_PASSWORD));
  });

  test("wrong credentials are refused, and not shown", async () => {
    const path = stored("ml_engine_4.json", mlText({ seed: 4 }));
    const env = { ...server.env, MLFLOW_TRACKING_PASSWORD: "planted-password" };
    const { code, stdout, stderr } = await mucast(["export", "--output", path, "--mlflow"], { env });
    assert.deepEqual([code, stdout], [3, ""]);
    assert.match(stderr, /could not be recorded at http:.*: it answered 401; the credentials may be missing/);
    assert.ok(!stderr.includes("planted-password"));
  });

  test("a service whose server is away runs its jobs, and logs one warning", async () => {
    const url = `http://127.0.0.1:${await claimPort()}`;
    const service = await startServe({ env: { MLFLOW_TRACKING_URI: url, MUCAST_LOG_LEVEL: "debug" } });
    const api = new Api(service.url);
    await putInputs(api, "1");
    for (const _ of [1, 2]) {
      const { id } = await api.submit(payload(service.url, "1"));
      assert.equal((await api.ended(id)).status, "Succeeded");
    }
    await eventuallyTrue("an attempt has failed", () => service.logs().includes(url));
    assert.deepEqual(await service.terminate(), { code: 0, signal: null });
    const lines = service.logs().split("\n");
    const warnings = lines.filter((line) => line.includes('"level":"warn"')).map((line) => JSON.parse(line));
    assert.deepEqual(
      warnings.map(({ msg, tracker }) => [msg, tracker]),
      [["jobs cannot be recorded in MLflow; a line will say when they are again", url]],
    );
  });

  test("a run that an export began is completed, and no value is doubled", async () => {
    const path = stored("ml_engine_5.json", mlText({ seed: 5 }));
    const first = await exported(path, "begun");
    const history = await metricHistory(server, first.run_id, "fold/rmse");
    const begun = { run_id: first.run_id, status: "RUNNING" };
    assert.equal((await server.call("mlflow/runs/update", begun)).status, 200);
    assert.deepEqual(await exported(path, "begun"), first);
    const [run, ...others] = await recordedRuns(server, "begun");
    assert.deepEqual([run!.status, others], ["FINISHED", []]);
    assert.deepEqual(await metricHistory(server, first.run_id, "fold/rmse"), history);
  });

  test("a run that was removed in MLflow is recorded again", async () => {
    const path = stored("ml_engine_3.json", mlText({ seed: 3 }));
    const { run_id } = await exported(path, "removed");
    assert.equal((await server.call("mlflow/runs/delete", { run_id })).status, 200);
    const again = await exported(path, "removed");
    assert.equal(again.created, true);
    assert.notEqual(again.run_id, run_id);
  });
});
