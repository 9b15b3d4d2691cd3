import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Fault, MucastError } from "../../errors/errors.ts";
import { parseDlSettings } from "../dl-settings.ts";
import { networkFaults } from "./networks.ts";

type Section = Readonly<Record<string, unknown>>;

const configOf = (prediction: Section) => ({ "NN params": { "Dot prediction": prediction } });

/** Faults of the whole config, including those of the schema. */
function faultsOf(prediction: Section): readonly Fault[] {
  try {
    parseDlSettings(JSON.stringify(configOf(prediction)));
  } catch (error) {
    assert.ok(error instanceof MucastError && error.code === "invalid_request");
    return error.data.faults!;
  }
  return [];
}

const transformer = (entry: Section, architecture = "transformer") => ({
  "current option": architecture,
  models_params: { [architecture]: entry },
});
const cnn = (entry: Section, lookback?: number) => ({
  "current option": "cnn",
  data_processing: lookback === undefined ? {} : { lookback },
  models_params: { cnn: entry },
});

const watching = (architecture: string, monitor: string) => ({
  "current option": architecture,
  training_params: { monitor },
});

test("only a network of all tickers can monitor the IC", () => {
  assert.deepEqual(faultsOf(watching("lstm", "ic")), [
    {
      path: "config.NN params.Dot prediction.training_params.monitor",
      message:
        "must be loss for lstm, which sees only one ticker, got ic; portfolio_lstm and portfolio_transformer can use ic",
    },
  ]);
  for (const architecture of ["portfolio_lstm", "portfolio_transformer"]) {
    assert.deepEqual(faultsOf(watching(architecture, "ic")), []);
  }
  assert.deepEqual(faultsOf(watching("mlp", "loss")), []);
});

for (const architecture of ["transformer", "portfolio_transformer"]) {
  test(`${architecture}: nhead has to divide d_model, and the fault lists the divisors`, () => {
    assert.deepEqual(faultsOf(transformer({ d_model: 30, nhead: 8 }, architecture)), [
      {
        path: `config.NN params.Dot prediction.models_params.${architecture}.nhead`,
        message: "must divide d_model, got 8 for d_model 30; these do: 1, 2, 3, 5, 6, 10, 15, 30",
      },
    ]);
  });
}

test("reports a default that contradicts a given value as the default", () => {
  assert.match(faultsOf(transformer({ d_model: 33 }))[0]!.message, /got 4 \(the default\) for d_model 33;/);
  assert.match(faultsOf(transformer({ nhead: 5 }))[0]!.message, /got 5 for d_model 64 \(the default\);/);
});

test("accepts an odd d_model if nhead divides it", () => {
  assert.deepEqual(faultsOf(transformer({ d_model: 9, nhead: 3 })), []);
  assert.deepEqual(faultsOf(transformer({ d_model: 1, nhead: 1 })), []);
});

test("does not check whether the entry of another architecture can be built", () => {
  const models_params = { transformer: { d_model: 30, nhead: 8 }, cnn: { filters: [1, 1, 1, 1, 1] } };
  assert.deepEqual(faultsOf({ "current option": "lstm", models_params }), []);
});

test("reports a wrong type even in the entry of another architecture", () => {
  const found = faultsOf({ "current option": "lstm", models_params: { transformer: { nhead: "4" } } });
  assert.deepEqual(
    found.map(({ path }) => path),
    ["config.NN params.Dot prediction.models_params.transformer.nhead"],
  );
});

test("the fault of a lookback too short for the pooling names the failing block and the minimum lookback", () => {
  assert.deepEqual(faultsOf(cnn({ filters: [8, 8, 8, 8] })), [
    {
      path: "config.NN params.Dot prediction.data_processing.lookback",
      message:
        "is too short for the pooling of the cnn, got 10 (the default): block 4 of 4 would pool 1 row by 2; " +
        "the least that works is 16; or give fewer filters than 4 or a smaller pool_size than 2",
    },
  ]);
  assert.match(
    faultsOf(cnn({ filters: [4], pool_size: 5 }, 4))[0]!.message,
    /got 4: block 1 of 1 would pool 4 rows by 5; the least that works is 5;/,
  );
  assert.match(
    faultsOf(cnn({ filters: [4, 4], pool_size: 101 }, 1000))[0]!.message,
    /got 1000: block 2 of 2 would pool 9 rows by 101; give fewer filters than 2 or a smaller pool_size than 101$/,
  );
});

test("refuses a cnn exactly if one of its successive blocks would leave no row", () => {
  const cases = fc.record({
    blocks: fc.integer({ min: 1, max: 16 }),
    pool: fc.integer({ min: 1, max: 101 }),
    lookback: fc.integer({ min: 1, max: 1000 }),
  });
  fc.assert(
    fc.property(cases, ({ blocks, pool, lookback }) => {
      let rows = lookback;
      let failing: string | undefined;
      for (let block = 1; block <= blocks && failing === undefined; block++) {
        if (rows < pool) failing = `block ${block} of ${blocks} would pool ${rows} row`;
        rows = Math.floor(rows / pool);
      }
      const found = networkFaults(
        configOf(cnn({ filters: Array(blocks).fill(1), pool_size: pool }, lookback)),
      );
      assert.equal(found.length, failing === undefined ? 0 : 1);
      if (failing !== undefined) assert.ok(found[0]!.message.includes(failing), found[0]!.message);
    }),
    {
      numRuns: 1_000,
      examples: [
        [{ blocks: 3, pool: 5, lookback: 125 }],
        [{ blocks: 3, pool: 5, lookback: 124 }],
        [{ blocks: 3, pool: 10, lookback: 1000 }],
        [{ blocks: 5, pool: 3, lookback: 243 }],
        [{ blocks: 5, pool: 3, lookback: 242 }],
        [{ blocks: 16, pool: 1, lookback: 1 }],
      ],
    },
  );
});

test("accepts the minimum lookback of a fault, and refuses one less", () => {
  const accepts = (lookback: number) => faultsOf(cnn({ filters: [2, 2, 2] }, lookback)).length === 0;
  assert.deepEqual([accepts(7), accepts(8)], [false, true]);
});

test("one error contains the network's fault and all others", () => {
  const found = faultsOf({
    ...transformer({ d_model: 30, nhead: 8, dropout: 1 }),
    training_params: { epochs: 0 },
  });
  assert.deepEqual(
    found.map(({ path }) => path.replace("config.NN params.Dot prediction.", "")),
    ["training_params.epochs", "models_params.transformer.dropout", "models_params.transformer.nhead"],
  );
});

test("any config results in faults and no other error", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => assert.ok(Array.isArray(networkFaults(value)))));
  for (const broken of [null, [], 3, { lookback: null }, { lookback: "10" }]) {
    assert.deepEqual(networkFaults(configOf({ ...cnn({}), data_processing: broken })), []);
    assert.deepEqual(networkFaults(configOf({ ...transformer({}), models_params: broken })), []);
  }
});
