import assert from "node:assert/strict";
import { test } from "node:test";
import { refusedCommand } from "../refused-command.testing.ts";

for (const [command, near, meant] of [
  ["examples", "pooled-lightgbn", "pooled-lightgbm"],
  ["schema", "ml-confg", "ml-config"],
] as const) {
  test(`${command} refuses a name that it does not know, and suggests the nearest`, async () => {
    const { code, said } = await refusedCommand([command, near]);
    assert.equal(code, 2);
    assert.match(said, new RegExp(`"${near}"; the names are .*${meant}`));
  });
}
