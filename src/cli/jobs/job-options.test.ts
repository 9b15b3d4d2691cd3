import assert from "node:assert/strict";
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { Command } from "commander";
import { MucastError } from "../../contract/errors/errors.ts";
import {
  configText,
  type JobFlags,
  jobInputs,
  pairedFlags,
  tagMember,
  withEngineFlags,
  withJobFlags,
} from "./job-options.ts";

const NAMED = ["--feature-url", "f.json", "--data-extractor-url", "p.json", "--config", "{}"];

function flags(...args: string[]): JobFlags {
  const command = withEngineFlags(withJobFlags(new Command("run_ml_job")))
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  return command.parse(args, { from: "user" }).opts();
}

test("stderr is text unless json is requested, and no other format is accepted", () => {
  assert.equal(flags(...NAMED).log, "text");
  assert.equal(flags(...NAMED, "--log", "json").log, "json");
  assert.throws(() => flags(...NAMED, "--log", "xml"), /Allowed choices are text, json/);
});

test("a flag takes precedence over its variable, which replaces a missing flag", () => {
  const env = { FEATURE_URL: "e.json", BLOB_URL: "folder" };
  assert.equal(jobInputs(flags(...NAMED), env).featureUrl, "f.json");
  const inputs = jobInputs(flags(...NAMED.slice(2)), env);
  assert.deepEqual([inputs.featureUrl, inputs.blobUrl], ["e.json", "folder"]);
});

test("the memory of a job is a number of bytes, or depends on the machine", () => {
  const given = flags(...NAMED);
  assert.equal(jobInputs(given, { MUCAST_MEMORY_BYTES: "1000000000" }).memoryBytes, 1e9);
  assert.equal(jobInputs(given, { MUCAST_MEMORY_BYTES: "" }).memoryBytes, undefined);
  assert.throws(() => jobInputs(given, { MUCAST_MEMORY_BYTES: "4G" }), /MUCAST_MEMORY_BYTES/);
});

test("one error names every missing input", () => {
  assert.throws(() => jobInputs(flags("--workers", "0"), {}), {
    message: /^--feature-url: .*; --data-extractor-url: .*; --config: .*; --workers: /,
  });
});

test("a folder stands for its newest pair of blobs, for both flags or one", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "mucast-pairs-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [i, name] of [
    "feature_engine_1",
    "data_extractor_1",
    "feature_engine_2",
    "data_extractor_2",
    "feature_engine_3",
  ].entries()) {
    writeFileSync(join(folder, `${name}.json`), "");
    utimesSync(join(folder, `${name}.json`), i, i);
  }
  const paired = async (...args: string[]) => {
    const { featureUrl, dataExtractorUrl } = await pairedFlags(flags("--quiet", ...args), {});
    return [featureUrl, dataExtractorUrl].map((path) => path && basename(path));
  };
  const pair = ["feature_engine_2.json", "data_extractor_2.json"];
  assert.deepEqual(await paired("--feature-url", folder), pair);
  assert.deepEqual(await paired("--feature-url", folder, "--data-extractor-url", folder), pair);
  assert.deepEqual(await paired("--feature-url", folder, "--data-extractor-url", "p.json"), [
    pair[0],
    "p.json",
  ]);
  assert.deepEqual(await paired(...NAMED), ["f.json", "p.json"]);
});

test("a config is JSON text, an example or a file", () => {
  assert.equal(configText(' {"a": 1.0}'), ' {"a": 1.0}');
  assert.match(configText("ridge"), /"model": ?"ridge"/);
});

test("a job computes on the cluster that a flag or a variable names, with all its slots unless --workers says how many", () => {
  const url = "ray://10.0.0.7:10001";
  const inputs = (args: string[], env = {}) => {
    const { cluster, clusterTasks } = jobInputs(flags(...NAMED, ...args), env);
    return { cluster, clusterTasks };
  };
  const named = { cluster: { url, insecure: false }, clusterTasks: undefined };
  assert.deepEqual(inputs([]), { cluster: undefined, clusterTasks: undefined });
  assert.deepEqual(inputs(["--engine", url], { MUCAST_ENGINE_URL: "ray://other:1" }), named);
  assert.deepEqual(inputs([], { MUCAST_ENGINE_URL: url }), named);
  assert.deepEqual(inputs([], { MUCAST_ENGINE_URL: "" }).cluster, undefined);
  assert.deepEqual(inputs(["--engine", url, "--workers", "3"]), { ...named, clusterTasks: 3 });
  assert.deepEqual(inputs(["--workers", "3"]).clusterTasks, undefined);
  const loopback = "ray://localhost:10001";
  for (const insecure of [
    inputs(["--engine", loopback, "--engine-insecure"]),
    inputs(["--engine", loopback], { MUCAST_ENGINE_INSECURE: "true" }),
  ]) {
    assert.deepEqual(insecure.cluster, { url: loopback, insecure: true });
  }
});

for (const [what, args, env, path] of [
  ["a URL that is none", ["--engine", "10.0.0.7:10001"], {}, "--engine"],
  ["the same of a variable", [], { MUCAST_ENGINE_URL: "http://10.0.0.7" }, "MUCAST_ENGINE_URL"],
  ["no token elsewhere", ["--engine", "ray://10.0.0.7:1", "--engine-insecure"], {}, "--engine-insecure"],
  [
    "the same of a variable",
    ["--engine", "ray://10.0.0.7:1"],
    { MUCAST_ENGINE_INSECURE: "true" },
    "MUCAST_ENGINE_INSECURE",
  ],
  ["no token for no cluster", ["--engine-insecure"], {}, "--engine-insecure"],
  ["a switch that is neither on nor off", [], { MUCAST_ENGINE_INSECURE: "yes" }, "MUCAST_ENGINE_INSECURE"],
] as const) {
  test(`${what} is refused at ${path}`, () => {
    assert.throws(
      () => jobInputs(flags(...NAMED, ...args), env),
      (error) => error instanceof MucastError && error.data.faults?.[0]?.path === path,
    );
  });
}

test("tags are checked before the job reads anything", () => {
  assert.deepEqual(tagMember({}), {});
  assert.deepEqual(tagMember({ tag: ["b", "a"] }), { tags: ["b", "a"] });
  assert.throws(() => tagMember({ tag: ["a", "b", "a"] }), {
    code: "invalid_request",
    message: '--tag[2]: must not appear twice, got "a"',
  });
});

test("an error names a config that is not a file without the signature of a SAS, and an endless config is too large", () => {
  const withConfig = (config: string) => jobInputs(flags(...NAMED.slice(0, 4), "--config", config), {});
  const isRefusal = (code: string) => (error: MucastError) =>
    error.code === code && !/SECRET/.test(error.message + JSON.stringify(error.data));
  assert.throws(() => withConfig("https://a.example/c.json?sv=1&sig=SECRET"), isRefusal("invalid_request"));
  assert.throws(() => withConfig("/dev/zero"), isRefusal("too_large"));
});
