import assert from "node:assert/strict";
import { test } from "node:test";
import { SubmissionKey } from "./payload-form.ts";

test("a text that was sent keeps its key, even after another one", () => {
  const keys = new SubmissionKey();
  const first = keys.of("a");
  assert.match(first, /^console-[0-9a-f]{32}$/);
  // An unsent text may still change under its key.
  assert.equal(keys.of("b"), first);
  assert.equal(keys.sent("b"), first);
  assert.equal(keys.sent("b"), first);
  const second = keys.of("c");
  assert.notEqual(second, first);
  assert.equal(keys.sent("c"), second);
  assert.equal(keys.of("b"), first);
  assert.notEqual(new SubmissionKey().of("b"), first);
});

test("keys are renewed if the service has another request under them", () => {
  const keys = new SubmissionKey();
  const first = keys.sent("a");
  keys.renew();
  assert.notEqual(keys.of("a"), first);
});

test("the last ones of many texts are remembered", () => {
  const keys = new SubmissionKey();
  const sent = Array.from({ length: 30 }, (_, i) => keys.sent(String(i)));
  assert.equal(new Set(sent).size, 30);
  assert.equal(keys.of("29"), sent[29]);
  assert.notEqual(keys.of("0"), sent[0]);
});
