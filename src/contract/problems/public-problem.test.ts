import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../errors/errors.ts";
import { problemOf } from "./problem.ts";
import { type PrivateDetails, publicProblem } from "./public-problem.ts";

for (const [what, error] of [
  ["a foreign error", new Error("ENOENT: /srv/secret/x0.npy")],
  [
    "an internal error of mucast",
    new MucastError("internal", "/srv/secret/x0.npy is no array", { path: "/srv/secret" }),
  ],
  ["what is no error", "/srv/secret"],
  ["one with a cause", new Error("no", { cause: new Error("/srv/secret") })],
] as const) {
  test(`the caller gets only an id of ${what}, and the log the rest`, () => {
    const defects: PrivateDetails[] = [];
    const problem = publicProblem(error, (defect) => defects.push(defect));
    assert.equal(problem.code, "internal");
    assert.doesNotMatch(JSON.stringify(problem), /secret|defect\.test/);
    assert.deepEqual(
      defects.map(({ id }) => id),
      [problem.id],
    );
    assert.ok(problem.detail.includes(String(problem.id)));
    assert.match(defects[0]!.text, /\/srv\/secret/);
  });
}

test("an error that is meant for the caller becomes its problem unchanged, and is not logged", () => {
  const error = new MucastError("blob_not_found", "data/f.json cannot be opened", { source: "data/f.json" });
  assert.deepEqual(
    publicProblem(error, () => assert.fail("logged")),
    problemOf(error),
  );
});

for (const [what, error] of [
  [
    "an engine that did not start",
    new MucastError("engine_unavailable", "the engine did not start with /srv/secret/python (ENOENT)", {
      source: "/srv/secret/python",
      stderr: "/srv/secret/lib: no such file",
    }),
  ],
  [
    "an environment that is not there",
    new MucastError("engine_unavailable", "there is no Python environment at /srv/secret"),
  ],
  [
    "an engine that died with last words",
    new MucastError("engine_crashed", "it ended twice", { stderr: 'File "/srv/secret/host.py"' }),
  ],
] as const) {
  test(`the caller gets the code and an id of ${what}, and the log the rest`, () => {
    const withheld: PrivateDetails[] = [];
    const problem = publicProblem(error, (one) => withheld.push(one));
    assert.equal(problem.code, error.code);
    assert.doesNotMatch(JSON.stringify(problem), /secret/);
    assert.deepEqual(
      withheld.map(({ id, what }) => [id, what]),
      [[problem.id, "engine"]],
    );
    assert.ok(problem.detail.includes(String(problem.id)));
    assert.match(withheld[0]!.text, /\/srv\/secret/);
  });
}

test("the caller gets the advice of an engine that has its own", () => {
  const data = { source: "/srv/secret/python", advice: "Use another image." };
  const problem = publicProblem(new MucastError("engine_unavailable", "/srv/secret", data), () => undefined);
  assert.equal(problem.advice, data.advice);
  assert.doesNotMatch(JSON.stringify(problem), /secret/);
});

test("the caller gets the whole error of a worker that died during a ticker", () => {
  const error = new MucastError("engine_crashed", "MSFT: the worker died 2 times", { ticker: "MSFT" });
  assert.deepEqual(
    publicProblem(error, () => assert.fail("logged")),
    problemOf(error),
  );
});
