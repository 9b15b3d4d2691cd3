/** What run_dl_job refuses, with the problem and the exit code of each, and the only value that it does not refuse. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { runDlJob } from "../../../src/jobs/run-job.ts";
import { type BlobPair, removeFolders, unjudged, writeMarket } from "../jobs/job-runs.ts";
import { assertRefused, noEngine } from "../jobs/refused-jobs.ts";
import { smallMarket, without } from "../markets/network-market.ts";
import { networkConfig, runNetworkJob } from "./network-jobs.ts";

let small: BlobPair;
let single: BlobPair;
before(async () => {
  small = await writeMarket(smallMarket());
  single = await writeMarket(without(smallMarket(), "MSFT", "JPM", "KO"));
});
after(removeFolders);

test("an unknown loss_type becomes mse, whatever its type, and the output names it", async () => {
  const run = (loss_type: unknown) =>
    runNetworkJob(single, networkConfig("mlp", { training: { loss_type } }));
  const known = await run("mse");
  assert.deepEqual(unjudged(known.output.warnings), []);
  for (const [loss, shown] of [
    [7, /\b7\b/],
    [null, /null/],
  ] as const) {
    const unknown = await run(loss);
    assert.deepEqual([unknown.output.mu, unknown.output.training], [known.output.mu, known.output.training]);
    assert.deepEqual(
      unjudged(unknown.output.warnings).map(({ code }) => code),
      ["unknown_loss_type"],
    );
    assert.match(unknown.output.warnings[0]!.message, shown);
    const told = unknown.events.flatMap((event) => (event.kind === "warning" ? [event.warning] : []));
    assert.deepEqual(told, unknown.output.warnings);
  }
});

test("a config with only its option has every default as documented, and reports the sections of others", async () => {
  const option = "portfolio_transformer";
  const config = `{"NN params": {"Other": {}, "Dot prediction": {"current option": "${option}",
    "models_params": {"transformer": {"nhead": 3}}}}, "more": {}}`;
  const { output } = await runNetworkJob(small, config);
  assert.ok(output.training!.portfolio!.epochs.length <= 20);
  assert.equal(output.provenance.seed, 42);
  const model = JSON.stringify(output.model);
  for (const value of ["robust", "adam", "r2", "0.001", "64", "256", option])
    assert.ok(model.includes(value), value);
  assert.deepEqual(
    unjudged(output.warnings).map(({ code }) => code),
    ["ignored_section", "ignored_section"],
  );
});

const mlp = (changes: Parameters<typeof networkConfig>[1]) => networkConfig("mlp", changes);
const training = (changes: object) => mlp({ training: changes });

const REFUSALS: readonly [name: string, says: RegExp, config: string][] = [
  ["a misspelt key", /training_params\.learning_rat\b.*learning_rate/, training({ learning_rat: 0.1 })],
  ["an unknown option, with the nearest", /transformer/, networkConfig("transfomer" as "mlp")],
  ["no option", /current option/, '{"NN params": {"Dot prediction": {}}}'],
  ["text where a number belongs", /training_params\.epochs/, training({ epochs: "20" })],
  ["no epoch", /epochs/, training({ epochs: 0 })],
  ["a rate of 0", /learning_rate/, training({ learning_rate: 0 })],
  ["a patience of 0", /patience/, training({ patience: 0 })],
  ["an ensemble of 51", /training_params\.ensemble/, training({ ensemble: 51 })],
  ["a negative decay", /weight_decay/, training({ weight_decay: -1 })],
  ["an optimizer in capitals", /adam/, training({ optimizer: "ADAM" })],
  ["a dropout of 1", /models_params\.mlp\.dropout/, mlp({ models: { mlp: { dropout: 1 } } })],
  ["no hidden layer", /hidden_dims/, mlp({ models: { mlp: { hidden_dims: [] } } })],
  ["a width beyond the limit", /hidden_dims/, mlp({ models: { mlp: { hidden_dims: [1e9] } } })],
  ["a scaler that is none", /scaler/, mlp({ data: { scaler: "none" } })],
  ["a batch of 0", /batch_size/, mlp({ data: { batch_size: 0 } })],
  ["a lookback of 0", /lookback/, mlp({ data: { lookback: 0 } })],
  ["a device of its own", /device/, mlp({ global: { device: "gpu" } })],
  ["a seed that is text", /seed/, mlp({ global: { seed: "x" } })],
  ["an alpha of 0", /intervals\.alpha/, mlp({ intervals: { alpha: 0 } })],
  ["intervals that are true", /intervals/, mlp({ intervals: true as never })],
  ["status as text", /status/, mlp({ status: "off" as never })],
];

describe("a job is refused, and creates nothing, with", { concurrency: 2 }, () => {
  for (const [name, says, config] of REFUSALS) {
    // Faults of the config alone are reported before an engine is looked for.
    test(`invalid_request (2) for ${name}`, () =>
      assertRefused(runDlJob, small, config, { code: "invalid_request", exit: 2, says }, noEngine));
  }
  test("device_unavailable (3) for a CUDA device where there is none", () =>
    assertRefused(runDlJob, small, mlp({ global: { device: "cuda:77" } }), {
      code: "device_unavailable",
      exit: 3,
      says: /cuda:77/,
    }));
});
