import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { OpenRequests } from "./open-requests.ts";

test("so many requests of a caller are answered at once, and another one as soon as one is done", () => {
  const open = new OpenRequests(2);
  const [first, second, third] = [new EventEmitter(), new EventEmitter(), new EventEmitter()];
  open.begin("key:a", first as never);
  open.begin("key:a", second as never);
  assert.throws(() => open.begin("key:a", third as never), { code: "rate_limited" });
  open.begin("key:b", third as never);
  first.emit("close");
  open.begin("key:a", new EventEmitter() as never);
  assert.throws(() => open.begin("key:a", third as never), { code: "rate_limited" });
});

test("who has gone before the answer begins is not counted for ever", () => {
  const open = new OpenRequests(1);
  const gone = Object.assign(new EventEmitter(), { destroyed: true });
  for (let n = 0; n < 3; n++) open.begin("key:a", gone as never);
  open.begin("key:a", new EventEmitter() as never);
});
