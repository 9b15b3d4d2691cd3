import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../errors/errors.ts";
import { problemOf } from "./problem.ts";
import { type PrivateDetails, publicProblem } from "./public-problem.ts";

function withheldOf(error: unknown) {
  const withheld: PrivateDetails[] = [];
  const problem = publicProblem(error, (one) => withheld.push(one));
  assert.doesNotMatch(JSON.stringify(problem), /secret/);
  assert.equal(withheld.length, 1);
  assert.equal(withheld[0]!.id, problem.id);
  assert.ok(problem.detail.includes(String(problem.id)));
  assert.match(withheld[0]!.text, /\/srv\/secret/);
  return { problem, what: withheld[0]!.what };
}

test("the caller gets only an id of a defect, and the log the rest", () => {
  for (const error of [
    new Error("ENOENT: /srv/secret/x0.npy"),
    new MucastError("internal", "/srv/secret/x0.npy is no array", { path: "/srv/secret" }),
    "/srv/secret",
    new Error("no", { cause: new Error("/srv/secret") }),
  ]) {
    const { problem, what } = withheldOf(error);
    assert.deepEqual([problem.code, what], ["internal", "defect"]);
  }
});

test("the caller gets the code, the advice and an id of an engine that failed as a whole, and the log the rest", () => {
  const data = { source: "/srv/secret/python", advice: "Use another image." };
  for (const error of [
    new MucastError("engine_unavailable", "there is no Python environment at /srv/secret", data),
    new MucastError("engine_crashed", "it ended twice", { ...data, stderr: 'File "/srv/secret/host.py"' }),
  ]) {
    const { problem, what } = withheldOf(error);
    assert.deepEqual([problem.code, problem.advice, what], [error.code, data.advice, "engine"]);
  }
});

test("an error that is meant for the caller becomes its problem unchanged, and is not logged", () => {
  for (const error of [
    new MucastError("blob_not_found", "data/f.json cannot be opened", { source: "data/f.json" }),
    new MucastError("engine_crashed", "MSFT: the worker died 2 times", { ticker: "MSFT" }),
  ])
    assert.deepEqual(
      publicProblem(error, () => assert.fail("logged")),
      problemOf(error),
    );
});
