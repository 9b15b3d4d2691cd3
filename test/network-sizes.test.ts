import assert from "node:assert/strict";
import { test } from "node:test";
import { parameterCount } from "../src/contract/config/network-size.ts";
import type { NetworkSpec } from "../src/contract/config/networks.ts";
import stored from "./cases/network-sizes.json" with { type: "json" };

test("networks are limited by as many parameters as the engine's own have", () => {
  assert.ok(stored.cases.length > 6);
  for (const { network, features, lookback, parameters } of stored.cases) {
    const said = `${JSON.stringify(network)} with ${features} features and ${lookback} rows`;
    assert.equal(parameterCount(network as NetworkSpec, features, lookback), parameters, said);
  }
});
