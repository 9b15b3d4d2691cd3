import assert from "node:assert/strict";
import { test } from "node:test";
import { userFolder } from "./folders.ts";

const listed = () => "/home/listed";

test("the variable comes before HOME, and HOME before the list of users; what is not absolute counts as none", () => {
  const of = (env: NodeJS.ProcessEnv) => userFolder("XDG_CACHE_HOME", env, listed);
  assert.equal(of({ XDG_CACHE_HOME: "/c", HOME: "/h" }), "/c");
  assert.equal(of({ HOME: "/h" }), "/h/.cache");
  for (const none of [{}, { HOME: "" }, { HOME: "here", XDG_CACHE_HOME: "." }])
    assert.equal(of(none), "/home/listed/.cache");
});

test("without any home the error names what to set", () => {
  const unknown = () => {
    throw new Error("no such user");
  };
  for (const home of [unknown, () => ""]) {
    assert.throws(() => userFolder("XDG_DATA_HOME", { HOME: "" }, home), {
      code: "invalid_request",
      message: /HOME .*--data-dir/,
    });
  }
});
