import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { meanQuantile } from "../../contract/output/test-quantile.ts";
import { dlText, type Market, mlText } from "../../outputs/outputs.testing.ts";
import { page } from "../page.ts";
import { reported, reportedData } from "../reported.testing.ts";

/** A config with so many candidates, and two warm-up folds before two published ones. */
function configOf(candidates: number, more: object = {}) {
  const alphas = Array.from({ length: candidates - 1 }, (_, i) => i + 2);
  const choice = { candidates: [{ grid: { alpha: alphas } }], warm_up: 2, ...more };
  return { n_splits: 2, cv_test_size: 20, choice };
}

const textOf = (candidates: number, market: Market = {}, more: object = {}) =>
  mlText({ config: configOf(candidates, more), folds: 4, skills: [0, 0.3, 0.25], ...market });

const dataOf = (text: string) => reportedData(text).outputs[0]!.candidates;

const outputOf = (text: string): OutputBlob => JSON.parse(text);

test("the figures are those of the output, the largest gain first", () => {
  const text = textOf(4);
  const { rows } = dataOf(text).data!;
  const { candidates } = outputOf(text).choice!;
  assert.equal(rows.length, 4);
  for (const { number, label, r2, gain, band, tickers, isMember } of rows) {
    const recorded = candidates[number]!;
    assert.deepEqual(
      [label, r2, gain, tickers, isMember],
      [recorded.label, recorded.r2, recorded.gain, recorded.tickers, recorded.member],
    );
    // 40 dates: Newey-West with lag 5.
    const half = meanQuantile(40) * Math.abs(recorded.gain! / recorded.gain_t!);
    assert.deepEqual(band, recorded.gain_t === null ? null : { low: gain! - half, high: gain! + half });
  }
  assert.deepEqual(
    rows.map(({ gain }) => gain),
    candidates.map(({ gain }) => gain!).sort((a, b) => b - a),
  );
});

test("the cumulative gain ends at the honest gain, and that of the best at its own", () => {
  const text = textOf(4);
  const { gain } = dataOf(text).data!;
  const { honest, candidates, best } = outputOf(text).choice!;
  assert.ok(Math.abs(gain!.chosen.at(-1)! - honest.gain!) < 1e-15);
  assert.ok(Math.abs(gain!.best!.at(-1)! - candidates[best]!.gain!) < 1e-15);
  assert.equal(gain!.days.length, 40);
});

test("with many candidates, 20 are shown and the others are folded, and the page stays small", () => {
  const sectionOf = (text: string) => /<h2 id="candidates">.*?<\/section>/s.exec(page(reported(text)))![0];
  const text = textOf(100, { skills: [], tickers: ["A", "B", "C"] });
  const many = sectionOf(text);
  const [open, folded] = many.split("<details><summary>80 further candidates with smaller gains");
  assert.equal(open!.match(/<th scope="row">/g)?.length, 20);
  assert.ok(folded!.match(/<th scope="row">/g)!.length >= 80);
  assert.ok(many.length < 120_000, String(many.length));
  assert.ok(sectionOf(textOf(3)).length < 20_000);
});

test("only reports on a choice have the section, and outputs without the series of gains have no such chart", () => {
  assert.equal(page(reported(mlText(), dlText())).includes('id="candidates"'), false);
  assert.match(page(reported(textOf(3), dlText({ seed: 2 }))), /id="candidates"/);
  const output = outputOf(textOf(3));
  const { gains: _, ...losses } = output.choice!.losses;
  const older = JSON.stringify({ ...output, choice: { ...output.choice, losses } });
  assert.equal(dataOf(older).data!.gain, undefined);
  assert.doesNotMatch(page(reported(older)), /Gain over candidate 0, cumulative/);
  assert.match(dataOf(mlText()).absent!, /did not choose/);
  assert.match(dataOf(textOf(3, { folds: 0 })).absent!, /too short/);
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
  const { data } = dataOf(text);
  assert.deepEqual([data!.gain!.best, data!.gain!.days.length], [undefined, 40]);
  assert.match(data!.finding, /^The best candidate.s calibration rows show an R² of/);
  assert.match(page(reported(text)), /id="candidates"/);
});

test("labels of another program are text, and long ones are cut", () => {
  const output = JSON.parse(textOf(4));
  output.choice.candidates[0].label = '"><script>alert(1)</script>';
  output.choice.candidates[1].label = "x".repeat(1_000_000);
  const html = page(reported(JSON.stringify(output)));
  assert.doesNotMatch(html, /<script>alert/);
  assert.doesNotMatch(html, /x{101}/);
});
