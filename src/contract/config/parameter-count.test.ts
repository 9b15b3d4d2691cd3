import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ARCHITECTURES, type NetworkSpec, parameterCount } from "./networks/networks.ts";

const weights = (...shapes: readonly (readonly number[])[]) =>
  shapes.reduce((sum, shape) => sum + shape.reduce((product, size) => product * size, 1), 0);

/** Query, key, value and output, two norms, and a feed-forward part of width 12, for a width of 6. */
const ATTENTION = [
  ...Array(4).fill([6, 6]),
  ...Array(4).fill([6]),
  ...[[6], [6], [6], [6]],
  ...[[12, 6], [12], [6, 12], [6]],
];
const TRANSFORMER = { d_model: 6, nhead: 2, num_layers: 2, dim_feedforward: 12, dropout: 0 };
/** Embedding of 3 features, 10 positions, two layers, a norm. */
const ENCODER = [[6, 3], [6], [10, 6], ...ATTENTION, ...ATTENTION, [6], [6]];
const LSTM = [[20, 3], [20, 5], [20], [20], [16, 5], [16, 4], [16], [16]];

const CASES: readonly (readonly [NetworkSpec, readonly (readonly number[])[]])[] = [
  [{ architecture: "lstm", hidden_dims: [5, 4], dropout: 0 }, [...LSTM, [4], [1]]],
  [{ architecture: "portfolio_lstm", hidden_dims: [5, 4], dropout: 0 }, [...LSTM, [4, 8], [4], [4], [1]]],
  // 10 rows become 5, then 2.
  [
    { architecture: "cnn", filters: [4, 7], kernel_size: 3, pool_size: 2, dropout: 0 },
    [[4, 3, 3], [4], [7, 4, 3], [7], [7, 2], [1]],
  ],
  [{ architecture: "mlp", hidden_dims: [5, 4], dropout: 0 }, [[5, 30], [5], [4, 5], [4], [4], [1]]],
  [{ architecture: "transformer", ...TRANSFORMER }, [...ENCODER, [6], [1]]],
  [{ architecture: "portfolio_transformer", ...TRANSFORMER }, [...ENCODER, ...ATTENTION, [6], [6], [6], [1]]],
];

test("counts every network matrix by matrix", () => {
  assert.deepEqual(CASES.map(([{ architecture }]) => architecture).sort(), [...ARCHITECTURES].sort());
});

for (const [network, shapes] of CASES) {
  test(`${network.architecture} has as many parameters as its matrices have entries`, () => {
    assert.equal(parameterCount(network, 3, 10), weights(...shapes));
  });
}

interface Case {
  readonly network: NetworkSpec;
  readonly features: number;
  readonly lookback: number;
  readonly parameters: number;
}

test("the counts equal those of the engine's own networks, which its tests compare with the same file", () => {
  const file = new URL("../../../test/cases/network-sizes.json", import.meta.url);
  const { cases }: { cases: readonly Case[] } = JSON.parse(readFileSync(file, "utf8"));
  const architectures = new Set(cases.map(({ network }) => network.architecture));
  assert.deepEqual([...architectures].sort(), [...ARCHITECTURES].sort(), "networks of network-sizes.json");
  for (const { network, features, lookback, parameters } of cases) {
    assert.equal(parameterCount(network, features, lookback), parameters, JSON.stringify(network));
  }
});
