import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { MucastError } from "../contract/errors/errors.ts";
import { configText, jobInputs, jobResources } from "./job-inputs.ts";
import { Reporter } from "./terminal/reporter.ts";

const REPORTING = { workers: undefined, log: "text", quiet: undefined } as const;
const NO_INPUTS = {
  feature_url: undefined,
  data_extractor_url: undefined,
  config: undefined,
  blob_url: undefined,
};
const reporter = new Reporter({ format: "text", quiet: true, stream: new PassThrough() });

test("a flag takes precedence over its variable, which replaces a missing flag; one error names every missing input", async (t) => {
  process.env.FEATURE_URL = "e.json";
  t.after(() => delete process.env.FEATURE_URL);
  const flags = { ...NO_INPUTS, data_extractor_url: "p.json", config: "{}" };
  assert.equal((await jobInputs({ ...flags, feature_url: "f.json" }, reporter)).featureUrl, "f.json");
  assert.equal((await jobInputs(flags, reporter)).featureUrl, "e.json");
  await assert.rejects(jobInputs(NO_INPUTS, reporter), { message: /^--data-extractor-url: .*; --config: / });
});

test("a config is JSON text, an example or a file, and an endless one is too large", async () => {
  assert.equal(await configText(' {"a": 1.0}'), ' {"a": 1.0}');
  assert.match(await configText("ridge"), /"model": ?"ridge"/);
  assert.match(await configText("examples/configs/ridge.json"), /"model": ?"ridge"/);
  const isRefusal = (code: string) => (error: MucastError) =>
    error.code === code && !/SECRET/.test(error.message + JSON.stringify(error.data));
  const signed = "https://a.example/c.json?sv=1&sig=SECRET";
  await assert.rejects(configText(signed), isRefusal("invalid_request"));
  await assert.rejects(configText("/dev/zero"), isRefusal("too_large"));
});

test("the memory of a job is a number of bytes, or depends on the machine", () => {
  assert.equal(jobResources(REPORTING, { MUCAST_MEMORY_BYTES: "1000000000" }).memoryBytes, 1e9);
  assert.equal(jobResources(REPORTING, { MUCAST_MEMORY_BYTES: "" }).memoryBytes, undefined);
  assert.throws(() => jobResources(REPORTING, { MUCAST_MEMORY_BYTES: "4G" }), /MUCAST_MEMORY_BYTES/);
});

test("a job computes on the cluster that a flag or a variable names, with all its slots unless --workers says how many", () => {
  const url = "ray://10.0.0.7:10001";
  const clusterOf = (flags: object, env = {}) => {
    const { cluster, clusterTasks } = jobResources({ ...REPORTING, ...flags }, env);
    return { cluster, clusterTasks };
  };
  const named = { cluster: { url, insecure: false }, clusterTasks: undefined };
  assert.deepEqual(clusterOf({ workers: "3" }), { cluster: undefined, clusterTasks: undefined });
  assert.deepEqual(clusterOf({ engine: url }, { MUCAST_ENGINE_URL: "ray://other:1" }), named);
  assert.deepEqual(clusterOf({}, { MUCAST_ENGINE_URL: url }), named);
  assert.deepEqual(clusterOf({ engine: url, workers: "3" }), { ...named, clusterTasks: 3 });
  const loopback = { engine: "ray://localhost:10001" };
  for (const [flags, env] of [
    [{ ...loopback, engine_insecure: true }, {}],
    [loopback, { MUCAST_ENGINE_INSECURE: "true" }],
  ] as const)
    assert.equal(clusterOf(flags, env).cluster?.insecure, true);
});

for (const [what, flags, env, path] of [
  ["a number of workers that is none", { workers: "0" }, {}, "--workers"],
  ["a URL that is none", { engine: "10.0.0.7:10001" }, {}, "--engine"],
  ["the same of a variable", {}, { MUCAST_ENGINE_URL: "http://10.0.0.7" }, "MUCAST_ENGINE_URL"],
  ["no token elsewhere", { engine: "ray://10.0.0.7:1", engine_insecure: true }, {}, "--engine-insecure"],
  [
    "the same of a variable",
    { engine: "ray://10.0.0.7:1" },
    { MUCAST_ENGINE_INSECURE: "true" },
    "MUCAST_ENGINE_INSECURE",
  ],
  ["no token for no cluster", { engine_insecure: true }, {}, "--engine-insecure"],
  ["a switch that is neither on nor off", {}, { MUCAST_ENGINE_INSECURE: "yes" }, "MUCAST_ENGINE_INSECURE"],
] as const) {
  test(`${what} is refused at ${path}`, () => {
    assert.throws(
      () => jobResources({ ...REPORTING, ...flags }, env),
      (error) => error instanceof MucastError && error.data.faults?.[0]?.path === path,
    );
  });
}
