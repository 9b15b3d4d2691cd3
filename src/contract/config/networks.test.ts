import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { type Fault, MucastError } from "../errors/errors.ts";
import { parseDlSettings } from "./dl-settings.ts";
import { ARCHITECTURES, checkNetworkSize, type NetworkSpec, parameterCount } from "./networks.ts";

type Section = Readonly<Record<string, unknown>>;

const configOf = (prediction: Section) => ({ "NN params": { "Dot prediction": prediction } });
const settingsOf = (prediction: Section) => parseDlSettings(JSON.stringify(configOf(prediction))).settings;

/** Paths below the section, and messages. */
function faultsOf(body: () => unknown): string[] {
  try {
    body();
  } catch (error) {
    assert.ok(error instanceof MucastError && error.code === "invalid_request");
    const shown = ({ path, message }: Fault) =>
      `${path.replace("config.NN params.Dot prediction.", "")}: ${message}`;
    return error.data.faults!.map(shown);
  }
  return [];
}
const faults = (prediction: Section) => faultsOf(() => settingsOf(prediction));

const sized = (architecture: string, entry: Section, lookback?: number, batch_size?: number) => ({
  "current option": architecture,
  data_processing: { ...(lookback && { lookback }), ...(batch_size && { batch_size }) },
  models_params: { [architecture]: entry },
});

describe("settings that cannot form a network together", () => {
  it("are the IC as the monitor of a network of one ticker", () => {
    const monitoring = (architecture: string, monitor: string) =>
      faults({ "current option": architecture, training_params: { monitor } });
    assert.deepEqual(monitoring("lstm", "ic"), [
      "training_params.monitor: must be loss for lstm, which sees only one ticker, got ic; portfolio_lstm and portfolio_transformer can use ic",
    ]);
    for (const architecture of ["portfolio_lstm", "portfolio_transformer"])
      assert.deepEqual(monitoring(architecture, "ic"), []);
    assert.deepEqual(monitoring("mlp", "loss"), []);
  });

  it("are heads that do not divide d_model; the fault lists the divisors and what is a default", () => {
    for (const architecture of ["transformer", "portfolio_transformer"])
      assert.deepEqual(faults(sized(architecture, { d_model: 30, nhead: 8 })), [
        `models_params.${architecture}.nhead: must divide d_model, got 8 for d_model 30; these do: 1, 2, 3, 5, 6, 10, 15, 30`,
      ]);
    assert.match(faults(sized("transformer", { d_model: 33 }))[0]!, /got 4 \(the default\) for d_model 33;/);
    assert.match(faults(sized("transformer", { nhead: 5 }))[0]!, /got 5 for d_model 64 \(the default\);/);
    assert.deepEqual(faults(sized("transformer", { d_model: 9, nhead: 3 })), []);
  });

  it("are a lookback too short for the pooling; the fault names the block and the minimum", () => {
    assert.deepEqual(faults(sized("cnn", { filters: [8, 8, 8, 8] })), [
      "data_processing.lookback: is too short for the pooling of the cnn, got 10 (the default): block 4 of 4 would pool 1 row by 2; " +
        "the least that works is 16; or give fewer filters than 4 or a smaller pool_size than 2",
    ]);
    assert.match(
      faults(sized("cnn", { filters: [4, 4], pool_size: 101 }, 1000))[0]!,
      /got 1000: block 2 of 2 would pool 9 rows by 101; give fewer filters than 2 or a smaller pool_size than 101$/,
    );
  });

  it("are in one error with all other faults", () => {
    const entry = { d_model: 30, nhead: 8, dropout: 1 };
    const found = faults({ ...sized("transformer", entry), training_params: { epochs: 0 } });
    assert.deepEqual(
      found.map((fault) => fault.split(":")[0]),
      ["training_params.epochs", "models_params.transformer.dropout", "models_params.transformer.nhead"],
    );
  });
});

describe("a network that is too large", () => {
  const check = (prediction: Section, features: number, tickers?: number) =>
    faultsOf(() => checkNetworkSize(settingsOf(prediction), features, tickers)).join("; ");
  const mlp = (hidden_dims: readonly number[]) => sized("mlp", { hidden_dims }, 1000, 1);

  it("is refused with its size, the limit and the settings to lower", () => {
    assert.equal(
      check(mlp([4096, 16]), 13),
      "models_params.mlp: makes a network of 53,317,665 parameters with 13 features; " +
        "at most 50,000,000 are accepted: lower hidden_dims [4096,16] or lookback 1000",
    );
    // 1,000,000 x features + 2,001.
    assert.equal(check(mlp([1000]), 49), "");
    assert.match(check(mlp([1000]), 50), /50,002,001 parameters with 50 features/);
  });

  it("is refused if a batch has too many values; a joint network processes pieces of at least a date", () => {
    const lstm = sized("lstm", {}, 1000, 4096);
    assert.equal(check(lstm, 65), "");
    assert.equal(
      check(lstm, 66),
      "data_processing.batch_size: makes batches of 270,336,000 numbers " +
        "(4,096 windows x lookback 1000 x 66 features); at most 268,435,456 are accepted: lower batch_size or lookback",
    );
    const joint = sized("portfolio_lstm", {}, 1000, 64);
    assert.equal(check(joint, 131, 500), "");
    assert.match(check(joint, 132, 500), /\(2,048 windows x lookback 1000 x 132 features\)/);
    assert.match(check(joint, 90, 3_000), /\(3,000 windows x lookback 1000 x 90 features\)/);
    assert.match(check(sized("lstm", {}, 1000, 64), 4_200), /\(64 windows/);
    assert.match(check(sized("mlp", {}, 1000, 65536), 400), /models_params\.mlp: .*; .*batch_size: /);
  });
});

describe("the number of parameters", () => {
  it("equals that of the engine's networks, which its tests compare with the same file", () => {
    const file = new URL("../../../test/cases/network-sizes.json", import.meta.url);
    const {
      cases,
    }: { cases: { network: NetworkSpec; features: number; lookback: number; parameters: number }[] } =
      JSON.parse(readFileSync(file, "utf8"));
    const architectures = new Set(cases.map(({ network }) => network.architecture));
    assert.deepEqual([...architectures].sort(), [...ARCHITECTURES].sort(), "networks of network-sizes.json");
    for (const { network, features, lookback, parameters } of cases)
      assert.equal(parameterCount(network, features, lookback), parameters, JSON.stringify(network));
  });
});
