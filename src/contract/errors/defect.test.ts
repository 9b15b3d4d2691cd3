import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "./errors.ts";
import { type Defect, problemOf, shownProblem } from "./problem.ts";

for (const [what, error] of [
  ["a foreign error", new Error("ENOENT: /srv/secret/x0.npy")],
  [
    "an internal one of ours",
    new MucastError("internal", "/srv/secret/x0.npy is no array", { path: "/srv/secret" }),
  ],
  ["what is no error", "/srv/secret"],
  ["one with a cause", new Error("no", { cause: new Error("/srv/secret") })],
] as const) {
  test(`of ${what} a caller sees an id alone, and the log the rest`, () => {
    const defects: Defect[] = [];
    const problem = shownProblem(error, (defect) => defects.push(defect));
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

test("an error that is meant for the caller is told as it is, and not logged", () => {
  const error = new MucastError("blob_not_found", "data/f.json cannot be opened", { source: "data/f.json" });
  assert.deepEqual(
    shownProblem(error, () => assert.fail("logged")),
    problemOf(error),
  );
});
