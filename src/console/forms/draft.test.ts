import assert from "node:assert/strict";
import { test } from "node:test";
import { isRawNumber, type RawJson, rawNumber } from "../../contract/json/json-text.ts";
import { type Draft, draftValue, readDraft, withMember } from "./draft.ts";
import { type Path, withInvisibleEscaped } from "./payload-tree.ts";

/** The draft after changes of fields, one after the other. */
function changed(draft: Draft, ...changes: (readonly [Path, RawJson | undefined, json?: string])[]): Draft {
  return changes.reduce((now, [path, value, json]) => withMember(now, { path, value, json }), draft);
}

test("fields write the payload, and a number keeps the spelling of its field", () => {
  const params = ["config", "ML params", "model_params"];
  const { text } = changed(
    readDraft("{}"),
    [["feature_url"], "f"],
    [[...params, "alpha"], rawNumber("1.0")],
    [[...params, "max_iter"], rawNumber("9007199254740993")],
  );
  assert.equal(
    text,
    '{\n  "feature_url": "f",\n  "config": {\n    "ML params": {\n      "model_params": {\n        "alpha": 1.0,\n        "max_iter": 9007199254740993\n      }\n    }\n  }\n}',
  );
});

test("typed text is sent unchanged, and fields show its values", () => {
  const typed = '{"config" : {"ML params":{"n_splits":5.0e0}},\t"feature_url":"f"}';
  const draft = readDraft(typed);
  assert.equal(draft.text, typed);
  const splits = draftValue(draft, ["config", "ML params", "n_splits"]);
  assert.ok(isRawNumber(splits) && splits.rawJSON === "5.0e0");
});

test("a member of the payload that no field changes keeps its bytes, including white space", () => {
  const typed =
    '{"feature_url":"f","config":{ "ML params" : {"model":"ridge","model_params":{"alpha":1.0}} }}';
  const draft = changed(readDraft(typed), [["quick"], true], [["feature_url"], "g"]);
  assert.equal(
    draft.text,
    '{\n  "feature_url": "g",\n  "config": { "ML params" : {"model":"ridge","model_params":{"alpha":1.0}} },\n  "quick": true\n}',
  );
  const written = changed(draft, [["config"], { a: 1 }, '{"a" : 1}']);
  assert.match(written.text, /"config": \{"a" : 1\},/);
  assert.match(changed(written, [["config", "b"], 2]).text, /"config": \{\n {4}"a": 1,\n {4}"b": 2\n {2}\}/);
});

test("an emptied field omits its member, and sections that then mean nothing", () => {
  const prunable = [["config", "training"], ["config"]];
  const epochs = ["config", "training", "epochs"];
  const set = withMember(readDraft("{}"), { path: epochs, value: rawNumber("3") }, prunable);
  const both = withMember(set, { path: ["config", "intervals"], value: {} }, prunable);
  const left = withMember(both, { path: epochs, value: undefined }, prunable);
  assert.deepEqual(JSON.parse(left.text), { config: { intervals: {} } });
  const none = withMember(left, { path: ["config", "intervals"], value: undefined }, prunable);
  assert.deepEqual(JSON.parse(none.text), {});
});

test("text that is not JSON, or has a duplicate key, is reported and leaves the fields unchanged", () => {
  const before = readDraft('{"a": 1}');
  for (const [typed, said] of [
    ['{"a": 1', /line 1, column 8/],
    ['{"config":{"a":1,"a":2}}', /config\.a appears twice/],
    ['{"a": NaN}', /NaN is not JSON/],
    [`${"[".repeat(80)}${"]".repeat(80)}`, /more than 65 levels/],
  ] as const) {
    const draft = readDraft(typed, before);
    assert.match(draft.fault!, said);
    assert.equal(draft.text, typed);
    assert.ok(isRawNumber(draftValue(draft, ["a"])));
  }
});

test("keys that objects inherit are keys like any other", () => {
  const draft = changed(readDraft('{"__proto__": {"x": 1}, "config": {"toString": 2}}'), [
    ["config", "__proto__", "y"],
    rawNumber("3"),
  ]);
  assert.deepEqual(Object.keys(JSON.parse(draft.text)), ["__proto__", "config"]);
  assert.match(draft.text, /"toString": 2,\n {4}"__proto__": \{/);
  assert.equal(draftValue(draft, ["config", "valueOf"]), undefined);
  assert.equal(({} as { y?: number }).y, undefined);
});

test("invisible characters are sent as escapes of the same value", () => {
  const hostile = '{"feature_url":"a\u202eb\u200b\ud800\\\\\u0085\ud83e\udd84"}\n';
  const text = withInvisibleEscaped(hostile);
  assert.deepEqual(JSON.parse(text), JSON.parse(hostile));
  assert.equal(text, '{"feature_url":"a\\u202eb\\u200b\\ud800\\\\\\u0085\ud83e\udd84"}\n');
});
