import assert from "node:assert/strict";
import { test } from "node:test";
import { readOutput } from "../client/read-output.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { type ChosenRows, chosenOutputsSchema } from "../contract/output/chosen-outputs.ts";
import type { OutputBlob } from "../contract/output/output-blob.ts";
import { outputDocument } from "../outputs/open-document.ts";
import { modelNameOf } from "../outputs/output-summary.ts";
import { dlText, type Market, mlText } from "../outputs/outputs.testing.ts";
import { type CandidateOutput, chooseOutputs } from "./choose-outputs.ts";
import { DATES_PER_CHOICE, outputRows } from "./output-rows.ts";

const SHA = "0".repeat(64);
const MARKET: Market = { fitRows: 250, folds: 8, scoreRows: 120 };

const parsed = (text: string): OutputBlob => JSON.parse(text);
const OUTPUTS = [0, 0.3, 0.25].map((skill, i) => parsed(mlText({ ...MARKET, skill, seed: i + 1 })));

function candidate(output: OutputBlob, rows: ChosenRows, name = "o.json"): CandidateOutput {
  const document = outputDocument(name, SHA, readOutput(output));
  return { name, sha256: SHA, model: modelNameOf(document.document), rows: outputRows(document, rows) };
}

const chosen = (outputs: readonly OutputBlob[], rows: ChosenRows = "out_of_fold") =>
  chooseOutputs(
    outputs.map((output) => candidate(output, rows)),
    { rows, rule: "mean", measure: "squared_error" },
  );

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

test("the honest R² is that of the means of the members of each fold, once 30 label dates are known", () => {
  const choice = chosen(OUTPUTS);
  chosenOutputsSchema.parse(choice);
  assert.deepEqual(
    choice.candidates.map(({ label }) => label),
    ["ridge (0)", "ridge (1)", "ridge (2)"],
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

test("later returns change no earlier choice", () => {
  const date = Object.values(OUTPUTS[0]!.cross_validation!)[0]!.folds[5]!.test_start;
  const changed = OUTPUTS.map((output) => {
    const copy = structuredClone(output);
    for (const tested of Object.values(copy.cross_validation!)) {
      tested.realised = tested.realised.map((y, i) => (tested.dates[i]! >= date ? -3 * y : y));
    }
    return copy;
  });
  const [before, after] = [chosen(OUTPUTS), chosen(changed)].map(({ changes }) =>
    changes.filter((change) => change.date <= date),
  );
  assert.ok(before!.length > 0);
  assert.deepEqual(after, before);
  assert.notDeepEqual(chosen(changed).honest, chosen(OUTPUTS).honest);
});

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
});
