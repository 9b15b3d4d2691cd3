import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { parseMlSettings } from "../../contract/config/ml-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { explain, Reporter } from "./reporter.ts";

/** What a person sees, and the exit code. */
function told(body: () => unknown): { text: string; exit: number } {
  const stream = new PassThrough();
  try {
    body();
  } catch (error) {
    const reporter = new Reporter({ format: "text", quiet: true, stream });
    const exit = explain(error, reporter);
    return { text: String(stream.read()), exit };
  }
  return assert.fail("nothing was thrown");
}

test("the error of an unknown parameter names its path and the accepted ones, of many the nearest", () => {
  const textOf = (model: string, name: string) =>
    told(() => parseMlSettings(`{"ML params": {"model": "${model}", "model_params": {"${name}": 1}}}`)).text;
  assert.deepEqual(textOf("ridge", "alhpa").split("\n"), [
    "error: invalid_model_params: Invalid model parameters",
    '  config.ML params.model_params.alhpa: Ridge of scikit-learn has no parameter called "alhpa" (did you mean alpha?)',
    "  accepted: alpha, copy_X, fit_intercept, max_iter, positive, random_state, solver, tol",
    "  Correct the named parameter. docs/model-params.md lists the accepted parameters.",
    "",
  ]);
  assert.match(
    textOf("lightgbm", "n_estimatros"),
    /^ {2}accepted: n_estimators, (\w+, ){6}\w+ and \d+ more$/m,
  );
});

test("an error that is not ours is a defect, reported with its stack", () => {
  const { text, exit } = told(() => {
    throw new TypeError("boom");
  });
  assert.equal(exit, 1);
  assert.match(text, /^error: internal: /);
  assert.match(text, /TypeError: boom\n\s+at /);
});

test("lines within a message are indented under it, and cannot look like our own lines", () => {
  const { text } = told(() => {
    throw new MucastError("engine_unavailable", "uv failed: one\nerror: two\u001b[2J");
  });
  assert.match(text, /^ {2}uv failed: one\n {4}error: two\\u001b\[2J$/m);
});

test("if very many tickers failed, the first ones are listed and all are counted", () => {
  const failures = Array.from({ length: 300 }, (_, i) => ({
    ticker: `T${i}`,
    code: i < 100 ? "fit_failed" : "insufficient_history",
    message: "why",
  }));
  const { text } = told(() => {
    throw new MucastError("all_failed", "All 300 tickers failed", { failures });
  });
  assert.equal(text.match(/^ {2}\w+: T\d+: why$/gm)?.length, 200);
  assert.match(text, /^ {2}all 300 failed tickers by code: 100 fit_failed, 200 insufficient_history$/m);
});
