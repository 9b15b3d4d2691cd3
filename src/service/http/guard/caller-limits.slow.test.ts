import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { OpenAnswers, requestLimits, TokenBuckets } from "./caller-limits.ts";

test("each key may use its minute's tokens at once, and then only the refilled ones", (t) => {
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const buckets = new TokenBuckets(60);
  for (let n = 0; n < 60; n++) assert.equal(buckets.take("a"), 0);
  assert.equal(buckets.take("a"), 1);
  assert.equal(buckets.take("b"), 0);
  now += 1_000;
  assert.deepEqual([buckets.take("a"), buckets.take("a")], [0, 1]);
  now += 3_600_000;
  for (let n = 0; n < 60; n++) assert.equal(buckets.take("a"), 0);
  assert.equal(buckets.take("a"), 1, "no more than a minute's worth is kept");
});

test("a new bucket replaces the one that was used longest ago", (t) => {
  t.mock.method(performance, "now", () => 0);
  const buckets = new TokenBuckets(2);
  buckets.take("busy");
  buckets.take("idle");
  buckets.take("idle");
  for (let n = 0; n < 19_998; n++) buckets.take(`other ${n}`);
  assert.equal(buckets.take("busy"), 0);
  buckets.take("one more");
  assert.equal(buckets.take("idle"), 0, "its bucket was replaced");
  assert.equal(buckets.take("busy"), 30, "its bucket was kept");
});

test("a caller's request beyond the limit is refused until another one closes", () => {
  const open = new OpenAnswers(requestLimits(4));
  const [first, second, third] = [new EventEmitter(), new EventEmitter(), new EventEmitter()];
  open.begin("key:a", first as never);
  open.begin("key:a", second as never);
  assert.throws(() => open.begin("key:a", third as never), { code: "rate_limited" });
  open.begin("key:b", third as never);
  first.emit("close");
  open.begin("key:a", new EventEmitter() as never);
  assert.throws(() => open.begin("key:a", third as never), { code: "rate_limited" });
});

test("a request whose connection is already closed is not counted", () => {
  const open = new OpenAnswers(requestLimits(2));
  const gone = Object.assign(new EventEmitter(), { destroyed: true });
  for (let n = 0; n < 3; n++) open.begin("key:a", gone as never);
  open.begin("key:a", new EventEmitter() as never);
});
