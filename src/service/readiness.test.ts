import assert from "node:assert/strict";
import { test } from "node:test";
import { oneAtATime } from "./readiness.ts";

test("who asks while it is being found out gets that answer, and who asks later another", async () => {
  const answers = [1, 2];
  const ask = oneAtATime(async () => answers.shift());
  assert.deepEqual(await Promise.all([ask(), ask(), ask()]), [1, 1, 1]);
  assert.equal(await ask(), 2);
});

test("a failure is told to those who have waited for it alone", async () => {
  const answers = [Promise.reject(new Error("away")), Promise.resolve("back")];
  const ask = oneAtATime(() => answers.shift()!);
  await Promise.all([assert.rejects(ask(), /away/), assert.rejects(ask(), /away/)]);
  assert.equal(await ask(), "back");
});
