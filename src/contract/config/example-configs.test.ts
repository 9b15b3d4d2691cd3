import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDlSettings } from "./dl-settings.ts";
import { EXAMPLE_CONFIGS, exampleConfigText } from "./example-configs.ts";
import type { Operation } from "./job-operations.ts";
import { parseMlSettings } from "./ml-settings.ts";

const PARSERS: Readonly<Record<Operation, (config: string) => { readonly warnings: readonly unknown[] }>> = {
  run_ml_job: parseMlSettings,
  run_dl_job: parseDlSettings,
};

test("every example is a valid config of its job, without a warning", () => {
  for (const example of EXAMPLE_CONFIGS) {
    assert.deepEqual(PARSERS[example.operation](exampleConfigText(example)).warnings, [], example.name);
  }
});

test("names are unique file names", () => {
  const names = EXAMPLE_CONFIGS.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  for (const name of names) assert.match(name, /^[a-z]+(-[a-z]+)*$/);
});
