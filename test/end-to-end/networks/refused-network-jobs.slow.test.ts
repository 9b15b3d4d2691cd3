/** What run_dl_job refuses, with the problem and the exit code of each, and the only value that it does not refuse. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { runDlJob } from "../../../src/jobs/dl/run-dl-job.ts";
import { type BlobPair, removeFolders, unjudged, writeMarket } from "../jobs/job-runs.ts";
import { assertRefused, noEngine, type Refusal } from "../jobs/refused-jobs.ts";
import { openSharedEngine } from "../jobs/shared-engines.ts";
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

/** invalid_request and 2 unless others are given. */
interface NamedRefusal extends Partial<Omit<Refusal, "says">>, Pick<Refusal, "says"> {
  readonly name: string;
  readonly config: string;
}

const REFUSALS: readonly NamedRefusal[] = [
  {
    name: "a misspelt key, with the nearest",
    says: /training_params\.learning_rat\b.*learning_rate/,
    config: networkConfig("mlp", { training: { learning_rat: 0.1 } }),
  },
  {
    name: "an unknown option, with the nearest",
    says: /transformer/,
    config: networkConfig("transfomer" as "mlp"),
  },
  { name: "no option", says: /current option/, config: '{"NN params": {"Dot prediction": {}}}' },
  {
    name: "text where a number belongs",
    says: /training_params\.epochs/,
    config: networkConfig("mlp", { training: { epochs: "20" } }),
  },
  {
    name: "half an epoch",
    says: /training_params\.epochs/,
    config: networkConfig("mlp", { training: { epochs: 0.5 } }),
  },
  { name: "no epoch", says: /epochs/, config: networkConfig("mlp", { training: { epochs: 0 } }) },
  {
    name: "a rate of 0",
    says: /learning_rate/,
    config: networkConfig("mlp", { training: { learning_rate: 0 } }),
  },
  { name: "a patience of 0", says: /patience/, config: networkConfig("mlp", { training: { patience: 0 } }) },
  { name: "no member", says: /ensemble/, config: networkConfig("mlp", { training: { ensemble: 0 } }) },
  {
    name: "an ensemble of 51",
    says: /training_params\.ensemble/,
    config: networkConfig("lstm", { training: { ensemble: 51 } }),
  },
  {
    name: "half a member",
    says: /training_params\.ensemble/,
    config: networkConfig("portfolio_lstm", { training: { ensemble: 2.5 } }),
  },
  {
    name: "a negative decay",
    says: /weight_decay/,
    config: networkConfig("mlp", { training: { weight_decay: -1 } }),
  },
  {
    name: "a negative clip",
    says: /grad_clip/,
    config: networkConfig("mlp", { training: { grad_clip: -1 } }),
  },
  {
    name: "an optimizer in capitals",
    says: /adam/,
    config: networkConfig("mlp", { training: { optimizer: "ADAM" } }),
  },
  {
    name: "a dropout of 1",
    says: /models_params\.mlp\.dropout/,
    config: networkConfig("mlp", { models: { mlp: { dropout: 1 } } }),
  },
  {
    name: "no hidden layer",
    says: /hidden_dims/,
    config: networkConfig("lstm", { models: { lstm: { hidden_dims: [] } } }),
  },
  {
    name: "a scaler that is none",
    says: /scaler/,
    config: networkConfig("mlp", { data: { scaler: "none" } }),
  },
  { name: "a batch of 0", says: /batch_size/, config: networkConfig("mlp", { data: { batch_size: 0 } }) },
  { name: "a lookback of 0", says: /lookback/, config: networkConfig("mlp", { data: { lookback: 0 } }) },
  {
    name: "a device of its own",
    says: /device/,
    config: networkConfig("mlp", { global: { device: "gpu" } }),
  },
  { name: "a seed that is text", says: /seed/, config: networkConfig("mlp", { global: { seed: "x" } }) },
  {
    name: "an alpha of 0",
    says: /intervals\.alpha/,
    config: networkConfig("mlp", { intervals: { alpha: 0 } }),
  },
  {
    name: "intervals that are true",
    says: /intervals/,
    config: networkConfig("mlp", { intervals: true as never }),
  },
  { name: "status as text", says: /status/, config: networkConfig("mlp", { status: "off" as never }) },
  {
    name: "a width beyond the limit",
    says: /hidden_dims/,
    config: networkConfig("mlp", { models: { mlp: { hidden_dims: [1e9] } } }),
  },
  {
    name: "a CUDA device where there is none",
    code: "device_unavailable",
    exit: 3,
    says: /cuda:77/,
    config: networkConfig("mlp", { global: { device: "cuda:77" } }),
  },
];

describe("a job is refused, and creates nothing, with", { concurrency: 2 }, () => {
  for (const { name, code = "invalid_request", exit = 2, says, config } of REFUSALS) {
    test(`${code} (${exit}) for ${name}`, () => {
      // Faults of the config alone are reported before an engine is looked for.
      const engine = exit === 2 ? noEngine : openSharedEngine;
      return assertRefused(runDlJob, small, config, { code, exit, says }, engine);
    });
  }
});

test("reports every fault of a config at once", () => {
  const config = networkConfig("mlp", { training: { epochs: 0, patince: 3 }, data: { lookback: "x" } });
  const says = /^(?=.*training_params\.epochs)(?=.*patience)(?=.*data_processing\.lookback)/s;
  return assertRefused(runDlJob, small, config, { code: "invalid_request", exit: 2, says }, noEngine);
});
