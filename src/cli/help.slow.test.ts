import assert from "node:assert/strict";
import { test } from "node:test";
import { startMucast } from "../../test/end-to-end/commands/command.ts";

for (const words of ["help", "--help", "--version", "db --help", "run_ml_job --help", "serve --help"]) {
  test(`a reader that stops early, as head does, is no error: mucast ${words}`, async () => {
    const { child, ended } = await startMucast(words.split(" "));
    child.stdout!.destroy();
    const { code, stderr } = await ended;
    assert.deepEqual([code, stderr], [0, ""]);
  });
}
