import assert from "node:assert/strict";
import { test } from "node:test";
import { isRawNumber, rawNumber } from "../../contract/json/json-text.ts";
import {
  type Draft,
  type Path,
  type RawJson,
  readDraft,
  valueAt,
  withInvisibleEscaped,
  withValue,
} from "./draft.ts";

/** The draft after changes of fields, one after the other. */
function changed(draft: Draft, ...changes: (readonly [Path, RawJson | undefined, json?: string])[]): Draft {
  return changes.reduce((now, [path, value, json]) => withValue(now, path, value, { json }), draft);
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

test("a member of the payload that no field changes keeps its bytes, including white space", () => {
  const typed =
    '{"feature_url":"f","config":{ "ML params" : {"model":"ridge","model_params":{"alpha":5.0e0}} }}';
  assert.equal(readDraft(typed).text, typed);
  const draft = changed(readDraft(typed), [["quick"], true], [["feature_url"], "g"]);
  assert.equal(
    draft.text,
    '{\n  "feature_url": "g",\n  "config": { "ML params" : {"model":"ridge","model_params":{"alpha":5.0e0}} },\n  "quick": true\n}',
  );
  const written = changed(draft, [["config"], { a: 1 }, '{"a" : 1}']);
  assert.match(written.text, /"config": \{"a" : 1\},/);
  assert.match(changed(written, [["config", "b"], 2]).text, /"config": \{\n {4}"a": 1,\n {4}"b": 2\n {2}\}/);
});

test("entries of lists are added, changed and removed", () => {
  const list = ["config", "candidates"];
  const draft = changed(readDraft("{}"), [[...list, 0], {}], [[...list, 1, "model"], "lasso"]);
  assert.deepEqual(JSON.parse(draft.text), { config: { candidates: [{}, { model: "lasso" }] } });
  assert.equal(valueAt(draft.tree, [...list, 1, "model"]), "lasso");
  assert.deepEqual(valueAt(changed(draft, [[...list, 0], undefined]).tree, list), [{ model: "lasso" }]);
});

test("an emptied field omits its member, and sections that then mean nothing", () => {
  const isSpare = (path: Path) => ["config,training", "config"].includes(path.join());
  const epochs = ["config", "training", "epochs"];
  const set = changed(readDraft("{}"), [epochs, rawNumber("3")], [["config", "intervals"], {}]);
  const left = withValue(set, epochs, undefined, { isSpare });
  assert.deepEqual(JSON.parse(left.text), { config: { intervals: {} } });
  assert.equal(withValue(left, ["config", "intervals"], undefined, { isSpare }).text, "{}");
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
    assert.ok(isRawNumber(valueAt(draft.tree, ["a"])));
  }
});

test("keys that objects inherit are keys like any other", () => {
  const draft = changed(readDraft('{"__proto__": {"x": 1}, "config": {"toString": 2}}'), [
    ["config", "__proto__", "y"],
    rawNumber("3"),
  ]);
  assert.deepEqual(Object.keys(JSON.parse(draft.text)), ["__proto__", "config"]);
  assert.match(draft.text, /"toString": 2,\n {4}"__proto__": \{/);
  assert.equal(valueAt(draft.tree, ["config", "valueOf"]), undefined);
});

test("invisible characters are sent as escapes of the same value", () => {
  const hostile = '{"feature_url":"a\u202eb\u200b\ud800\\\\\u0085\ud83e\udd84"}\n';
  const text = withInvisibleEscaped(hostile);
  assert.deepEqual(JSON.parse(text), JSON.parse(hostile));
  assert.equal(text, '{"feature_url":"a\\u202eb\\u200b\\ud800\\\\\\u0085\ud83e\udd84"}\n');
});
