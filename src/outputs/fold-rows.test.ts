import assert from "node:assert/strict";
import { test } from "node:test";
import { readOutput } from "../client/read-output.ts";
import { foldRows } from "./fold-rows.ts";
import { mlText, outputDocument } from "./outputs.testing.ts";

const text = mlText({ tickers: ["A", "B"], fitRows: 120, scoreRows: 30, folds: 3 });

test("the folds of a ticker are consecutive on its rows, and a ticker with fewer lacks the first numbers", () => {
  const output = JSON.parse(text);
  const { dates, predicted, realised, folds } = output.cross_validation.B;
  const dropped = folds.shift().n;
  for (const list of [dates, predicted, realised]) list.splice(0, dropped);
  const found = foldRows(outputDocument("o", "", readOutput(output)));
  assert.deepEqual(
    found.map((folds) => folds.map(({ ticker, number }) => `${ticker}${number}`)),
    [
      ["A1", "A2", "A3"],
      ["B2", "B3"],
    ],
  );
  for (const [k, folds] of found.entries()) {
    const ticker = ["A", "B"][k]!;
    const all = output.cross_validation[ticker].dates;
    assert.equal(folds[0]!.from, 0);
    assert.equal(folds.at(-1)!.to, all.length);
    for (const { fold, from, to } of folds) {
      assert.deepEqual([fold.test_start, fold.test_end], [all[from], all[to - 1]]);
    }
  }
});

test("refuses folds that do not add up to the rows, and finds none in a network", () => {
  const output = JSON.parse(text);
  output.cross_validation.B.folds.pop();
  const document = outputDocument("o", "", readOutput(output));
  assert.throws(() => foldRows(document), /folds in cross_validation\.B\.folds do not add up to its 60 rows/);
  delete output.cross_validation;
  assert.deepEqual(foldRows(outputDocument("o", "", readOutput(output))), []);
});
