import assert from "node:assert/strict";
import { test } from "node:test";
import { mlText } from "../../outputs/outputs.testing.ts";
import { candidateTable } from "./candidate-table.ts";

function choiceOf(candidates: number) {
  const alphas = Array.from({ length: candidates - 1 }, (_, i) => i + 2);
  const choice = { candidates: [{ grid: { alpha: alphas } }], warm_up: 2 };
  const text = mlText({ config: { n_splits: 2, choice }, folds: 4, tickers: ["A", "B"], skills: [0, 0.2] });
  return JSON.parse(text).choice;
}

test("each candidate has a line, the largest gain first, and the last line is what was chosen in advance", () => {
  const choice = choiceOf(3);
  choice.candidates[2].label = "x\n\u001b[2J";
  choice.candidates[2].gain = -0.00001;
  const lines = candidateTable(choice).split("\n");
  assert.equal(lines.length, 2 + 3 + 1 + 1);
  assert.match(lines[2]!, /^1 ridge alpha=2 .* % .* 2 {2,}yes$/);
  assert.match(lines.find((line) => line.startsWith("2 "))!, /^2 x\\u000a\\u001b\[2J .* 0\.00 % /);
  assert.match(lines[5]!, /^chosen in advance /);
  assert.match(lines[6]!, /^Candidate 1 is the best/);
});

test("at most 20 candidates are shown, and the others are counted", () => {
  const lines = candidateTable(choiceOf(31)).split("\n");
  assert.equal(lines.length, 2 + 20 + 1 + 2);
  assert.equal(lines.at(-2), "11 further candidates with smaller gains; mucast report shows all.");
});
