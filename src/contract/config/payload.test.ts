import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ErrorCode } from "../errors/error-codes.ts";
import { MucastError } from "../errors/errors.ts";
import type { SubmittedOperation } from "./job-operations.ts";
import { LIMITS, TAG_LIMITS } from "./limits.ts";
import { type PayloadChecks, parsePayload } from "./payload.ts";

const FEATURES = "https://a.example/c/data/feature_engine_1.json";
const PRICES = "https://a.example/c/data/data_extractor_1.json";

function payload(config: string, before = "", after = ""): string {
  return `{${before}"feature_url": "${FEATURES}", "data_extractor_url": "${PRICES}", "config": ${config}${after}}`;
}

const ridge = (params = "") => `{"ML params": {"model": "ridge"${params}}}`;

function refusal(
  text: string,
  operation: SubmittedOperation = "run_ml_job",
  checks: PayloadChecks = {},
): MucastError {
  try {
    parsePayload(operation, text, checks);
  } catch (error) {
    if (error instanceof MucastError) return error;
    throw error;
  }
  throw new assert.AssertionError({ message: `accepted: ${text}` });
}

function told(error: MucastError, code: ErrorCode): string[] {
  assert.equal(error.code, code, error.message);
  const faults = error.data.faults ?? [];
  for (const { path, message } of faults) {
    assert.ok(error.message.includes(path) && error.message.includes(message), `${path}: ${error.message}`);
  }
  return faults.map(({ path }) => path);
}

it("is read by the rules of its job, and keeps its config in the caller's own text", () => {
  const config = '{ "ML params" : {"model":"ridge",\n "model_params": {"alpha": 1e0, "tol":0.0010} } }';
  const parsed = parsePayload("run_ml_job", `\uFEFF${payload(config)} `);
  assert.deepEqual([parsed.featureUrl, parsed.dataExtractorUrl, parsed.config], [FEATURES, PRICES, config]);
  const network = '{"NN params":{"Dot prediction":{"current option":"mlp"}}}';
  assert.equal(parsePayload("run_dl_job", payload(network)).config, network);
  assert.deepEqual(told(refusal(payload(network)), "invalid_request"), ["config.ML params"]);
});

describe("a canonical payload", () => {
  it("sorts its keys, drops its spaces, normalises its strings and keeps its numbers", () => {
    const text = `{ "data_extractor_url":"${PRICES}",
      "config": {"ML params": {"n_splits": 5, "model": "\\u0072idge", "model_params": {"alpha": 1.50}}},
      "feature_url": "${FEATURES.replaceAll("/", "\\/")}" }`;
    assert.equal(
      parsePayload("run_ml_job", text).canonical,
      '{"config":{"ML params":{"model":"ridge","model_params":{"alpha":1.50},"n_splits":5}},' +
        `"data_extractor_url":"${PRICES}","feature_url":"${FEATURES}"}`,
    );
  });
});

describe("an invalid payload", () => {
  it("causes one error with every fault", () => {
    const text =
      `{"feature_ur": "x", "data_extractor_url": 5, "more": 1, "more": 2, ` +
      `"config": {"ML params": {"model": "rigde", "n_split": 5, "cv_test_size": 0}, "mode": 1}}`;
    const error = refusal(text);
    assert.deepEqual(told(error, "invalid_request").sort(), [
      "config.ML params.cv_test_size",
      "config.ML params.model",
      "config.ML params.n_split",
      "config.mode",
      "data_extractor_url",
      "feature_ur",
      "feature_url",
      "more",
      "more",
    ]);
    const near = Object.fromEntries(error.data.faults!.map(({ path, suggestion }) => [path, suggestion]));
    assert.equal(near.feature_ur, "feature_url");
    assert.equal(near["config.ML params.model"], "ridge");
    assert.equal(near["config.ML params.n_split"], "n_splits");
  });

  const own: [ErrorCode, string, string[]][] = [
    ["unknown_model", '{"ML params":{"model":"lgb"}}', ["config.ML params.model"]],
    [
      "invalid_model_params",
      ridge(',"model_params":{"alpa":1,"random_state":"x"}'),
      ["config.ML params.model_params.alpa", "config.ML params.model_params.random_state"],
    ],
    [
      "device_unavailable",
      '{"ML params":{"model":"xgb","model_params":{"device":"cuda"}}}',
      ["config.ML params.model_params.device"],
    ],
    ["invalid_request", ridge(',"n_splits":0'), ["config.ML params.n_splits"]],
  ];
  for (const [code, config, paths] of own) {
    it(`is ${code} if only that is wrong, and invalid_request if something else is too`, () => {
      assert.deepEqual(told(refusal(payload(config)), code), paths);
      assert.deepEqual(told(refusal(payload(config, '"x":1,')), "invalid_request"), ["x", ...paths]);
    });
  }

  it("is too_large if its config has more than 32 KiB, without the spaces around it", () => {
    const config = (bytes: number) => ridge().replace(/}$/, `${" ".repeat(bytes - ridge().length)}}`);
    const spaces = " ".repeat(LIMITS.configBytes);
    const fits = payload(spaces + config(LIMITS.configBytes) + spaces);
    assert.equal(parsePayload("run_ml_job", fits).config.length, LIMITS.configBytes);
    const large = config(LIMITS.configBytes + 1);
    assert.equal(refusal(payload(large)).code, "too_large");
    const both = refusal(payload(large, '"x":1,'));
    assert.deepEqual(told(both, "invalid_request"), ["x", "config"]);
    assert.match(both.message, /config: has 32769 bytes; at most 32768/);
  });

  it("causes one error with both URLs that may not be read, by the path of their field", () => {
    const checkUrl = (url: string) =>
      url.includes("a.example") ? undefined : { message: "is outside the allowed origins" };
    const there = { checkUrl };
    assert.equal(parsePayload("run_ml_job", payload(ridge()), there).featureUrl, FEATURES);
    const text = payload(ridge()).replaceAll("a.example", "b.example");
    const both = ["feature_url", "data_extractor_url"];
    assert.deepEqual(told(refusal(text, "run_ml_job", there), "url_not_allowed"), both);
    const more = text.replace("ridge", "ridgge");
    const all = told(refusal(more, "run_ml_job", there), "invalid_request");
    assert.deepEqual(all, [...both, "config.ML params.model"]);
    const empty = refusal(payload(ridge()).replace(FEATURES, ""), "run_ml_job", there);
    assert.match(empty.message, /^feature_url: must not be empty/);
  });

  for (const [text, expected] of [
    ["[]", /^payload: must be an object, got \[\]/],
    ["{}", /feature_url: is required; data_extractor_url: is required; config: is required/],
    ["{", /^payload is not valid JSON at line 1, column 2/],
    [payload('"{}"'), /^config: must be an object, got "{}"/],
    ['{"feature_url": [{"toString": {}}]}', /^feature_url: must be a string, got \[/],
    [payload(`${'{"a":'.repeat(64)}[1]${"}".repeat(64)}`), /more than 65 levels/],
  ] as const)
    it(`says what is wrong with ${text.slice(0, 30)}`, () => assert.match(refusal(text).message, expected));
});

it("reports the first 100 faults of a body full of faults, and how many more there are", () => {
  const unknown = Array.from({ length: 1_500 }, (_, i) => `"k${i}":1`).join(",");
  for (const text of [payload(ridge(), `${unknown},`), payload(ridge(`,"model_params":{${unknown}}`))]) {
    const error = refusal(text);
    assert.equal(error.data.faults?.length, 100);
    assert.match(error.message, /; and 1400 more$/);
  }
  const deep = `${`{"${"k".repeat(3_000)}":`.repeat(50)}{${'"a":1,'.repeat(1_500)}"a":1}${"}".repeat(50)}`;
  assert.ok(JSON.stringify(refusal(payload(ridge(), `"deep":${deep},`)).data).length < 100_000);
});

describe("the payload of an audit, a preview and a replay", () => {
  const NETWORK = '"NN params": {"Dot prediction": {"current option": "mlp"}}';
  const both = `{"ML params": {"model": "ridge"}, ${NETWORK}}`;

  it("keeps the options, and the job", () => {
    const parsed = parsePayload("audit", payload(ridge(), '"truncations": 2, "accept": ["a"],'));
    assert.deepEqual(parsed.options, { truncations: 2, accept: ["a"], operation: "run_ml_job" });
    for (const use of ["audit", "validate_job"] as const) {
      const chosen = parsePayload(use, payload(both, '"operation": "run_dl_job",'));
      assert.deepEqual(chosen.options, { operation: "run_dl_job" });
    }
    assert.deepEqual(parsePayload("run_ml_job", payload(ridge(), '"portable": true,')).options, {
      portable: true,
    });
  });

  it("of a replay may have only its output, or a config byte for byte", () => {
    const output = '"output_url": "https://a.example/c/data/nn_engine_1.json"';
    const { canonical: _, model: __, ...alone } = parsePayload("replay", `{${output}}`);
    const output_url = "https://a.example/c/data/nn_engine_1.json";
    assert.deepEqual(alone, { featureUrl: "", dataExtractorUrl: "", config: "", options: { output_url } });
    assert.equal(parsePayload("replay", `{${output}, "config": { "x" :1.0}}`).config, '{ "x" :1.0}');
  });

  it("is refused with every fault at once, including those of every URL", () => {
    const checkUrl: PayloadChecks["checkUrl"] = (url, names) =>
      url.includes(names) ? undefined : { message: "is refused" };
    const before = '"previous_feature_url": "p", "previous_data_extractor_url": "input", "truncations": 0,';
    const text = payload(ridge(',"n_splits":0'), before);
    assert.deepEqual(told(refusal(text, "audit", { checkUrl }), "invalid_request").sort(), [
      "config.ML params.n_splits",
      "data_extractor_url",
      "feature_url",
      "previous_feature_url",
      "truncations",
    ]);
    assert.deepEqual(told(refusal(payload(both), "audit"), "invalid_request"), ["operation"]);
    assert.equal(refusal(payload("{}"), "audit").data.path, "config");
    assert.deepEqual(told(refusal('{"output_url": "input"}', "replay", { checkUrl }), "url_not_allowed"), [
      "output_url",
    ]);
  });
});

describe("tags", () => {
  const withTags = (tags: unknown) => payload(ridge(), `"tags": ${JSON.stringify(tags)},`);
  const longest = "x".repeat(TAG_LIMITS.characters);
  const most = Array.from({ length: TAG_LIMITS.tags }, (_, i) => `tag ${i}`);

  it("keep their order and every printable character", () => {
    for (const tags of [[], ["b", "a"], ["<b>'&\"/\\,:=~"], ["two words"], [longest], most])
      assert.deepEqual(parsePayload("run_ml_job", withTags(tags)).options, { tags });
  });

  it("are refused with the path and the value", () => {
    const printable = "must be 1 to 64 printable ASCII characters without a space at either end";
    for (const [tags, message] of [
      ["a", 'tags: must be an array, got "a"'],
      [["a", ""], `tags[1]: ${printable}, got ""`],
      [["\u202ea"], `tags[0]: ${printable}, got "\\u202ea"`],
      [[`${longest}x`], `tags[0]: ${printable}, got ${JSON.stringify(`${longest}x`)}`],
      [["a", "b", "a"], 'tags[2]: must not appear twice, got "a"'],
      [[...most, "more"], "tags: must be a list of length <= 16, got "],
    ] as const)
      assert.ok(refusal(withTags(tags)).message.startsWith(message), message);
  });
});
