import assert from "node:assert/strict";
import { test } from "node:test";
import { refusedCommand } from "./refused-command.testing.ts";

test("--cpu is refused without --dl, before anything is installed", async () => {
  for (const words of [["--cpu"], ["--ray", "--cpu"]]) {
    const { code, said } = await refusedCommand(["setup", ...words]);
    assert.equal(code, 2);
    assert.match(said, /--cpu goes with --dl/);
  }
});
