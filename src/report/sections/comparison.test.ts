import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { dlText, mlText } from "../../outputs/outputs.testing.ts";
import { stateOf } from "../evidence/reported-outputs.ts";
import { page } from "../page.ts";
import { reported, rowsOf } from "../reported.testing.ts";
import { metricsOf, pairsSentence, rowsSentences, skillSentence } from "./comparison.ts";

const SKILLED = mlText({ skill: 0.1, config: { intervals: {} } });
const BLIND = dlText({ seed: 2, config: { intervals: {} } });

/** What a comparison says, and what it is made from. */
function compared(...texts: readonly string[]) {
  const report = reported(...texts);
  const { outputs, differences } = report;
  const names = outputs.map(({ name }) => name);
  return {
    ...{ outputs, names, differences: differences!, commons: outputs.map(({ common }) => common) },
    rows: rowsSentences(report).rows,
    skill: skillSentence(outputs),
    pairs: pairsSentence(differences!, names),
  };
}

/** R² against 0 in units of each ticker's root mean square label, minus another output's. */
function slowGain(own: OutputBlob, other: OutputBlob): number {
  const r2 = ({ forecasts }: OutputBlob) => {
    let [gained, rows] = [0, 0];
    for (const { predicted, realised } of Object.values(forecasts)) {
      const known = realised.flatMap((y, i) => (y === null ? [] : [[y, predicted[i]!] as const]));
      const square = known.reduce((sum, [y]) => sum + y * y, 0) / known.length;
      for (const [y, p] of known) gained += (y * y - (y - p) ** 2) / square;
      rows += known.length;
    }
    return gained / rows;
  };
  return r2(own) - r2(other);
}

test("a pair whose bands exclude 0 is told apart, and the output with evidence of skill is named", () => {
  const { names, rows, differences, pairs, skill, outputs, commons } = compared(BLIND, SKILLED);
  assert.deepEqual(names, ["lstm", "ridge"]);
  assert.match(
    rows,
    /^The outputs share 952 rows with realised returns, for 8 tickers on 119 dates; no rows are/,
  );
  const [order, errors] = differences.pairs;
  assert.deepEqual([order!.measure, errors!.measure], ["order", "squared error"]);
  const [blind, skilled]: readonly OutputBlob[] = [JSON.parse(BLIND), JSON.parse(SKILLED)];
  assert.ok(Math.abs(errors!.gain - slowGain(blind!, skilled!)) < 1e-12);
  const ics = [blind, skilled].map((output) => output!.metrics.score.cross_section.ic_mean!);
  assert.ok(Math.abs(order!.gain - (ics[0]! - ics[1]!)) < 1e-12);
  for (const { gain, band } of differences.pairs) {
    assert.ok(band!.low < gain && gain < band!.high && band!.high < 0);
    assert.ok(Math.abs(band!.low + band!.high - 2 * gain) < 1e-12);
  }
  assert.match(
    pairs,
    /^ridge is better than lstm by IC \(.*, band .* to .*\); ridge is better than lstm by squared error/,
  );
  assert.match(skill, /^1 of 2 outputs shows evidence of skill on the common rows: ridge\. /);
  assert.deepEqual(outputs.map(stateOf), ["worse", "skill"]);
  // The figures at a later close are those of the whole output.
  for (const { verdict } of commons)
    assert.match(
      verdict!.later!,
      /^A close later: .* These figures are over all score rows of the output\.$/,
    );
});

test("fewer than 30 common dates distinguish no outputs, nor do outputs without skill and equal ones", () => {
  const few = compared(mlText({ scoreRows: 4, skill: 0.4 }), dlText({ scoreRows: 4, seed: 2 }));
  assert.deepEqual(few.differences.pairs, []);
  assert.match(few.pairs, /^3 dates are too few to tell the outputs apart; at least 30 are needed/);
  assert.match(few.skill, /^Too few realised returns are known/);
  const none = compared(mlText(), mlText({ seed: 2 }));
  assert.equal(none.skill, "No output shows evidence of skill on the common rows.");
  const same = compared(SKILLED, SKILLED);
  assert.deepEqual(same.names, ["ridge (1)", "ridge (2)"]);
  assert.equal(same.pairs, "The 95\u202f% band of every difference between the two outputs contains 0.");
  assert.deepEqual(
    same.differences.pairs.map(({ gain, band }) => [gain, band]),
    [
      [0, null],
      [0, null],
    ],
  );
});

test("outputs without a labelled score row are compared on their out-of-fold rows, and the report says so", () => {
  const config = { intervals: {} };
  const open = [mlText({ isOpen: true, skill: 0.1, config }), mlText({ isOpen: true, seed: 2, config })];
  const { rows, outputs, commons } = compared(...open);
  const documents: OutputBlob[] = open.map((text) => JSON.parse(text));
  const { n } = documents[0]!.metrics.out_of_fold!.pooled;
  assert.match(rows, new RegExp(`^The outputs share ${n} out-of-fold rows with realised`));
  const values = (name: string) => metricsOf(outputs).find((metric) => metric.name === name)?.values;
  const judged = documents.map(({ verdict }) => verdict!.judged[0]!);
  assert.deepEqual(
    values("R²"),
    judged.map(({ sizes }) => sizes.against.zero.r2),
  );
  assert.equal(values("Interval score"), undefined, "out-of-fold rows have no intervals");
  for (const [k, { judgedRows, verdict }] of commons.entries()) {
    assert.equal(judgedRows, "out_of_fold");
    assert.ok(verdict!.sentence.includes(judged[k]!.order.sentence), "the sentences are the job's");
  }
  const rowsWith = (text: string) => compared(open[0]!, text).commons[0]!.judgedRows;
  assert.equal(rowsWith(mlText({ skill: 0.1, config })), "score", "one has labelled score rows");
  assert.equal(rowsWith(dlText({ isOpen: true, config })), "score");
});

test("outputs with other prices are refused, with the row and both returns", () => {
  const other = mlText({ market: 2 });
  const realised = (text: string) => (JSON.parse(text) as OutputBlob).forecasts.AAA!.realised[0];
  assert.throws(() => reported(BLIND, other), {
    code: "invalid_data",
    message: new RegExp(
      `the return of AAA on 2015-07-31 is ${realised(BLIND)} in .+ and ${realised(other)} in .+, so`,
    ),
  });
});

test("rows that one output lacks are excluded from both, and counted; without a common one nothing is compared", () => {
  const fewer = mlText({ skill: 0.1, tickers: ["AAA", "BBB", "CCC"] });
  const more = mlText({ skill: 0.1, tickers: ["AAA", "BBB", "CCC", "DDD"], scoreRows: 120 });
  const { rows, commons, outputs } = compared(fewer, more);
  assert.match(rows, /357 rows .* for 3 tickers on 119 dates; up to 119 rows per output are excluded/);
  assert.deepEqual(
    commons.map(({ table }) => table),
    Array(2).fill(reported(fewer).outputs[0]!.common.table),
  );
  assert.deepEqual(
    outputs.map(({ whole }) => whole.rows.length),
    [3, 4],
  );
  const none = page(reported(mlText({ tickers: ["A", "B", "C"] }), mlText({ tickers: ["X", "Y", "Z"] })));
  assert.match(none, /No row that all outputs have has a realised return/);
  assert.equal(rowsOf(none).flat().includes("NaN"), false);
});
