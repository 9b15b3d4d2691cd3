import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../contract/errors/errors.ts";
import { type ChosenOutputs, type ChosenRows, chosenOutputsSchema } from "../contract/output/choice.ts";
import type { OutputBlob } from "../contract/output/output-blob.ts";
import { dlText, type Market, mlText, outputDocument } from "../outputs/outputs.testing.ts";
import { candidateOf, chooseOutputs, DATES_PER_CHOICE, outputRows } from "./choose-outputs.ts";

const SHA = "0".repeat(64);
const MARKET: Market = { fitRows: 250, folds: 8, scoreRows: 120 };

const parsed = (text: string): OutputBlob => JSON.parse(text);
const OUTPUTS = [0, 0.3, 0.25].map((skill, i) => parsed(mlText({ ...MARKET, skill, seed: i + 1 })));

function chosen(outputs: readonly OutputBlob[], rows: ChosenRows = "out_of_fold") {
  const options = { rows, rule: "mean", measure: "squared_error" } as const;
  const documents = outputs.map((output) => outputDocument("o.json", SHA, output));
  return chooseOutputs(
    documents.map((document) => candidateOf(document, options)),
    options,
  );
}

test("by order, score rows are those forecasts whose order is judged; by error, the published ones", () => {
  const text = mlText({ ...MARKET, skill: -0.5, seed: 1, config: { shrinkage: "pooled" } });
  const document = outputDocument("o.json", SHA, parsed(text));
  const { predicted, ranked } = document.rows[0]!;
  const kept = (measure: "ic" | "squared_error") => outputRows(document, "score", measure)[0]!.predicted;
  assert.deepEqual(kept("ic"), ranked!.subarray(0, kept("ic").length));
  assert.deepEqual(kept("squared_error"), predicted.subarray(0, kept("ic").length));
  assert.notDeepEqual(kept("ic"), kept("squared_error"));
});

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

test("the honest R² is that of the means of the members of each fold, once 30 label dates are known", () => {
  const choice = chosen(OUTPUTS);
  chosenOutputsSchema.parse(choice);
  assert.deepEqual(
    choice.candidates.map(({ label }) => label),
    ["ridge (1)", "ridge (2)", "ridge (3)"],
  );
  assert.deepEqual([choice.changes[0]!.members, choice.best], [[0], 1]);
  let [squares, saved] = [0, 0];
  for (const [ticker, { folds, dates, realised }] of Object.entries(OUTPUTS[0]!.cross_validation!)) {
    const unit = mean(realised.map((y) => y * y));
    for (const [i, date] of dates.entries()) {
      const { test_start: start } = folds.find(({ test_end: end }) => date <= end)!;
      if (choice.losses.dates.filter((known) => known <= start).length < 30) continue;
      const { members } = choice.changes.findLast((change) => change.date <= start)!;
      const p = mean(members.map((c) => OUTPUTS[c]!.cross_validation![ticker]!.predicted[i]!));
      squares += realised[i]! ** 2 / unit;
      saved += (realised[i]! ** 2 - (realised[i]! - p) ** 2) / unit;
    }
  }
  assert.ok(Math.abs(choice.honest.r2! - saved / squares) < 1e-12);
  assert.ok(choice.honest.gain! > 0);
});

test("a job that chooses among the same forecasts has the same members at the end", () => {
  const choice = { candidates: [{ grid: { alpha: [2, 3] } }], warm_up: 4 };
  const config = { n_splits: 4, choice };
  const job = parsed(mlText({ ...MARKET, config, skills: [0, 0.3, 0.25] })).choice!;
  assert.deepEqual(chosen(OUTPUTS).members, job.members);
});

for (const delay of [0, 2]) {
  test(`later returns change no earlier choice with delay ${delay}`, () => {
    const window = { ...OUTPUTS[0]!.window, ...(delay === 0 ? {} : { delay }) };
    const outputs = OUTPUTS.map((output) => ({ ...output, window }));
    const [tested] = Object.values(OUTPUTS[0]!.cross_validation!);
    const date = tested!.folds[5]!.test_start;
    // The label of this row is known on that date; those of later rows are not.
    const last = tested!.dates[tested!.dates.indexOf(date) - 1 - delay]!;
    const changedAfter = (day: string) =>
      outputs.map((output) => {
        const copy = structuredClone(output);
        for (const own of Object.values(copy.cross_validation!)) {
          own.realised = own.realised.map((y, i) => (own.dates[i]! > day ? -3 * y : y));
        }
        return copy;
      });
    const upTo = ({ changes }: ChosenOutputs) => changes.filter((change) => change.date <= date);
    const before = chosen(outputs);
    assert.ok(upTo(before).length > 0);
    const changed = chosen(changedAfter(last));
    assert.deepEqual(upTo(changed), upTo(before));
    assert.notDeepEqual(changed.honest, before.honest);
  });
}

test("networks take part on score rows, where members may change every month", () => {
  const outputs = [OUTPUTS[0]!, parsed(dlText({ ...MARKET, skill: 0.3, seed: 9 }))];
  const choice = chosen(outputs, "score");
  chosenOutputsSchema.parse(choice);
  assert.deepEqual([choice.best, choice.candidates.map(({ label }) => label)], [1, ["ridge", "lstm"]]);
  const { dates } = Object.values(OUTPUTS[0]!.forecasts)[0]!;
  for (const { date } of choice.changes) assert.equal(dates.indexOf(date) % DATES_PER_CHOICE, 0);
  assert.throws(
    () => chosen(outputs),
    (error) =>
      error instanceof MucastError &&
      error.code === "invalid_request" &&
      /o\.json cannot be chosen: it has no out-of-fold rows; networks never have any/.test(error.message),
  );
});

test("an output that lacks tickers and rows counts on those that it has, and other prices are refused", () => {
  const fewer = structuredClone(OUTPUTS[1]!);
  delete fewer.cross_validation!.AAA;
  const choice = chosen([OUTPUTS[0]!, fewer]);
  assert.deepEqual(
    choice.candidates.map(({ tickers }) => tickers),
    [8, 7],
  );
  const other = parsed(mlText({ ...MARKET, market: 2 }));
  assert.throws(() => chosen([OUTPUTS[0]!, other]), /made from different prices/);
  const later = { ...OUTPUTS[1]!, window: { ...OUTPUTS[1]!.window, delay: 1 } };
  assert.throws(() => chosen([OUTPUTS[0]!, later]), /delay 0 and 1, so they forecast different returns/);
});
