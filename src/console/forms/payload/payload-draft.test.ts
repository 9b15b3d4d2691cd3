import assert from "node:assert/strict";
import { test } from "node:test";
import { isRawNumber, rawNumber } from "../../../contract/json/json-text.ts";
import { withInvisibleEscaped } from "../fields/payload-tree.ts";
import { PayloadDraft } from "./payload-draft.ts";

test("fields write the payload, and a number keeps the spelling of its field", () => {
  const draft = new PayloadDraft();
  draft.set(["feature_url"], "f");
  draft.set(["config", "ML params", "model_params", "alpha"], rawNumber("1.0"));
  draft.set(["config", "ML params", "model_params", "max_iter"], rawNumber("9007199254740993"));
  assert.equal(
    draft.text,
    '{\n  "feature_url": "f",\n  "config": {\n    "ML params": {\n      "model_params": {\n        "alpha": 1.0,\n        "max_iter": 9007199254740993\n      }\n    }\n  }\n}',
  );
});

test("typed text is sent unchanged, and fields show its values", () => {
  const typed = '{"config" : {"ML params":{"n_splits":5.0e0}},\t"feature_url":"f"}';
  const draft = new PayloadDraft();
  draft.write(typed);
  assert.equal(draft.text, typed);
  const splits = draft.valueAt(["config", "ML params", "n_splits"]);
  assert.ok(isRawNumber(splits) && splits.rawJSON === "5.0e0");
});

test("a member of the payload that no field changes keeps its bytes, including white space", () => {
  const draft = new PayloadDraft();
  draft.write(
    '{"feature_url":"f","config":{ "ML params" : {"model":"ridge","model_params":{"alpha":1.0}} }}',
  );
  draft.set(["quick"], true);
  draft.set(["feature_url"], "g");
  assert.equal(
    draft.text,
    '{\n  "feature_url": "g",\n  "config": { "ML params" : {"model":"ridge","model_params":{"alpha":1.0}} },\n  "quick": true\n}',
  );
  draft.set(["config"], { a: 1 }, '{"a" : 1}');
  assert.match(draft.text, /"config": \{"a" : 1\},/);
  draft.set(["config", "b"], 2);
  assert.match(draft.text, /"config": \{\n {4}"a": 1,\n {4}"b": 2\n {2}\}/);
});

test("an emptied field omits its member, and sections that then mean nothing", () => {
  const draft = new PayloadDraft([["config", "training"], ["config"]]);
  draft.set(["config", "training", "epochs"], rawNumber("3"));
  draft.set(["config", "intervals"], {});
  draft.set(["config", "training", "epochs"], undefined);
  assert.deepEqual(JSON.parse(draft.text), { config: { intervals: {} } });
  draft.set(["config", "intervals"], undefined);
  assert.deepEqual(JSON.parse(draft.text), {});
});

test("text that is not JSON, or has a duplicate key, is reported and leaves the fields unchanged", () => {
  const draft = new PayloadDraft();
  draft.write('{"a": 1}');
  for (const [typed, said] of [
    ['{"a": 1', /line 1, column 8/],
    ['{"config":{"a":1,"a":2}}', /config\.a appears twice/],
    ['{"a": NaN}', /NaN is not JSON/],
    [`${"[".repeat(80)}${"]".repeat(80)}`, /more than 65 levels/],
  ] as const) {
    draft.write(typed);
    assert.match(draft.fault!, said);
    assert.equal(draft.text, typed);
    assert.ok(isRawNumber(draft.valueAt(["a"])));
  }
  draft.write("{}");
  assert.equal(draft.fault, undefined);
});

test("keys that objects inherit are keys like any other", () => {
  const draft = new PayloadDraft();
  draft.write('{"__proto__": {"x": 1}, "config": {"toString": 2}}');
  draft.set(["config", "__proto__", "y"], rawNumber("3"));
  assert.deepEqual(Object.keys(JSON.parse(draft.text)), ["__proto__", "config"]);
  assert.match(draft.text, /"toString": 2,\n {4}"__proto__": \{/);
  assert.equal(draft.valueAt(["config", "valueOf"]), undefined);
  assert.equal(({} as { y?: number }).y, undefined);
});

test("invisible characters are sent as escapes of the same value", () => {
  const hostile = '{"feature_url":"a\u202eb\u200b\ud800\\\\\u0085\ud83e\udd84"}\n';
  const text = withInvisibleEscaped(hostile);
  assert.deepEqual(JSON.parse(text), JSON.parse(hostile));
  assert.equal(text, '{"feature_url":"a\\u202eb\\u200b\\ud800\\\\\\u0085\ud83e\udd84"}\n');
});
