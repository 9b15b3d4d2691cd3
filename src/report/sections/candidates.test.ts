import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { dlText, type Market, mlText } from "../../outputs/outputs.testing.ts";
import { figure } from "../../view/figures.ts";
import { page } from "../page.ts";
import { panelsOn, reported, rowsOf } from "../reported.testing.ts";

/** An output with so many candidates, and two warm-up folds before two published ones. */
function textOf(candidates: number, market: Market = {}): string {
  const alphas = Array.from({ length: candidates - 1 }, (_, i) => i + 2);
  const choice = { candidates: [{ grid: { alpha: alphas } }], warm_up: 2 };
  const config = { n_splits: 2, cv_test_size: 20, choice };
  return mlText({ config, folds: 4, skills: [0, 0.3, 0.25], ...market });
}

const sectionOf = (text: string) =>
  /<h2 id="candidates">.*?<\/section>/s.exec(page(reported(text)))?.[0] ?? "";
const outputOf = (text: string): OutputBlob => JSON.parse(text);

test("the figures are those of the output, the largest gain first, and the cumulative gains end at them", () => {
  const text = textOf(4);
  const { candidates, honest, best } = outputOf(text).choice!;
  const [table, gains] = panelsOn(sectionOf(text));
  const expected = candidates
    .map(({ label, r2, ic, gain }, number) => ({
      gain: gain!,
      cells: [label, String(number), figure(r2, "r2"), figure(ic, "ic"), figure(gain, "r2")],
    }))
    .sort((a, b) => b.gain - a.gain);
  assert.deepEqual(
    table!.rows.map((row) => row.slice(0, 5)),
    expected.map(({ cells }) => cells),
  );
  assert.equal(gains!.rows.length, 40);
  assert.deepEqual(gains!.rows.at(-1)!.slice(1), [
    figure(honest.gain, "r2"),
    figure(candidates[best]!.gain, "r2"),
  ]);
});

test("with many candidates, 20 are shown and the others are folded, and the page stays small", () => {
  const many = sectionOf(textOf(100, { skills: [], tickers: ["A", "B", "C"] }));
  const [open, folded] = many.split("<summary>80 further candidates with smaller gains");
  assert.deepEqual([rowsOf(open!).length, rowsOf(folded!).length > 79], [20, true]);
  assert.ok(many.length < 120_000 && sectionOf(textOf(3)).length < 20_000);
});

test("only reports on a choice have the section, and outputs without the series of gains have no such chart", () => {
  assert.equal(page(reported(mlText(), dlText())).includes('id="candidates"'), false);
  assert.match(page(reported(textOf(3), dlText({ seed: 2 }))), /id="candidates"/);
  const output = outputOf(textOf(3));
  const { gains: _, ...losses } = output.choice!.losses;
  const older = JSON.stringify({ ...output, choice: { ...output.choice, losses } });
  assert.equal(panelsOn(sectionOf(older)).length, 1);
  assert.match(sectionOf(textOf(3, { folds: 0 })), /No held-out row judges the candidates/);
});

test("the candidates of networks are judged on the calibration part", () => {
  const { choice } = outputOf(textOf(3));
  const { losses } = choice!;
  // Networks have the losses of the validation part and the gains of the calibration part.
  const excess = losses.excess.map((own) => own.map((loss, d) => (losses.gains![d] === null ? loss : null)));
  const text = JSON.stringify({
    ...outputOf(dlText()),
    choice: { ...choice, losses: { ...losses, excess } },
  });
  const [table, gains] = panelsOn(sectionOf(text));
  assert.match(table!.sentence, /^The best candidate.s calibration rows show an R² of/);
  assert.deepEqual([gains!.rows.length, gains!.rows[0]!.length], [40, 2]);
});

test("labels of another program are text, and long ones are cut", () => {
  const output = JSON.parse(textOf(4));
  output.choice.candidates[0].label = '"><script>alert(1)</script>';
  output.choice.candidates[1].label = "x".repeat(1_000_000);
  assert.doesNotMatch(page(reported(JSON.stringify(output))), /<script>alert|x{101}/);
});
