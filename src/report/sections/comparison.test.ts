import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { dlText, mlText } from "../../outputs/outputs.testing.ts";
import { reportedData } from "../reported.testing.ts";

const SKILLED = mlText({ skill: 0.1, config: { intervals: {} } });
const BLIND = dlText({ seed: 2, config: { intervals: {} } });

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
  const { comparison, outputs } = reportedData(BLIND, SKILLED);
  const { names, rows, dates, differences, pairsFinding, skillFinding } = comparison!;
  assert.deepEqual([names, rows, dates], [["lstm", "ridge"], 952, 119]);
  const [order, errors] = differences.pairs;
  assert.deepEqual([order!.measure, order!.first, order!.second], ["order", 0, 1]);
  assert.deepEqual([errors!.measure, errors!.first, errors!.second], ["squared error", 0, 1]);
  assert.ok(Math.abs(errors!.gain - slowGain(JSON.parse(BLIND), JSON.parse(SKILLED))) < 1e-12);
  const ics = [BLIND, SKILLED].map(
    (text) => (JSON.parse(text) as OutputBlob).metrics.score.cross_section.ic_mean!,
  );
  assert.ok(Math.abs(order!.gain - (ics[0]! - ics[1]!)) < 1e-12);
  for (const { gain, band } of differences.pairs) {
    assert.ok(band!.low < gain && gain < band!.high && band!.high < 0);
    assert.ok(Math.abs(band!.low + band!.high - 2 * gain) < 1e-12);
  }
  assert.match(
    pairsFinding,
    /^ridge is better than lstm by IC \(.*, band .* to .*\); ridge is better than lstm by squared error/,
  );
  assert.match(skillFinding, /^1 of 2 outputs shows evidence of skill on the common rows: ridge\. /);
  assert.deepEqual(
    outputs.map(({ verdict }) => verdict.state),
    ["worse", "skill"],
  );
  // The figures at a later close are those of the whole output.
  for (const { verdict } of outputs) {
    assert.match(verdict.later!, /^A close later: .* These figures are over all score rows of the output\.$/);
  }
});

test("fewer than 30 common dates distinguish no outputs", () => {
  const few = [mlText({ scoreRows: 4, skill: 0.4 }), dlText({ scoreRows: 4, seed: 2 })];
  const { differences, pairsFinding, skillFinding } = reportedData(...few).comparison!;
  assert.deepEqual(differences.pairs, []);
  assert.match(pairsFinding, /^3 dates are too few to tell the outputs apart; at least 30 are needed/);
  assert.match(skillFinding, /^Too few realised returns are known/);
});

test("outputs without skill and equal outputs are not told apart", () => {
  const none = reportedData(mlText(), mlText({ seed: 2 })).comparison!;
  assert.equal(none.skillFinding, "No output shows evidence of skill on the common rows.");
  const same = reportedData(SKILLED, SKILLED).comparison!;
  assert.deepEqual(same.names, ["ridge (1)", "ridge (2)"]);
  assert.equal(
    same.pairsFinding,
    "The 95\u202f% band of every difference between the two outputs contains 0.",
  );
  assert.deepEqual(
    same.differences.pairs.map(({ gain, band }) => [gain, band]),
    [
      [0, null],
      [0, null],
    ],
  );
  const open = reportedData(mlText({ isOpen: true }), dlText({ isOpen: true })).comparison!;
  assert.deepEqual([open.rows, open.differences.pairs.length], [0, 0]);
});

test("outputs without a labelled score row are compared on their out-of-fold rows, and the report says so", () => {
  const config = { intervals: {} };
  const open = [mlText({ isOpen: true, skill: 0.1, config }), mlText({ isOpen: true, seed: 2, config })];
  const { comparison, outputs } = reportedData(...open);
  const documents: OutputBlob[] = open.map((text) => JSON.parse(text));
  const { n } = documents[0]!.metrics.out_of_fold!.pooled;
  assert.deepEqual(
    [comparison!.rows, comparison!.judgedRows, comparison!.leftOut],
    [n, "out_of_fold", [0, 0]],
  );
  assert.match(comparison!.rowsFinding, new RegExp(`^The outputs share ${n} out-of-fold rows with realised`));
  const value = (name: string) => comparison!.metrics.find((metric) => metric.name === name)?.values;
  assert.deepEqual(
    value("R²"),
    documents.map(({ verdict }) => verdict!.judged[0]!.sizes.against.zero.r2),
  );
  assert.equal(value("Interval score"), undefined, "out-of-fold rows have no intervals");
  for (const [k, { metrics, verdict: written }] of documents.entries()) {
    const { verdict, skill, tickers } = outputs[k]!;
    const judged = written!.judged.find(({ rows }) => rows === "out_of_fold")!;
    assert.deepEqual([verdict.facts.judgedRows, verdict.facts.rows], ["out_of_fold", n]);
    assert.equal(skill.data!.days.length, metrics.out_of_fold!.cross_section.dates);
    assert.ok(tickers.data!.rows.every((row) => row.n > 0));
    assert.ok(verdict.sentences.includes(judged.order.sentence), "the sentences are the job's");
  }
  const [first] = open as [string];
  const beside = reportedData(first, mlText({ skill: 0.1, config }));
  assert.equal(beside.comparison!.judgedRows, "score", "one has labelled score rows");
  const network = reportedData(first, dlText({ isOpen: true, config }));
  assert.deepEqual([network.comparison!.judgedRows, network.comparison!.rows], ["score", 0]);
});

test("outputs with other prices are refused, with the row and both returns", () => {
  const other = mlText({ market: 2 });
  const realised = (text: string) => (JSON.parse(text) as OutputBlob).forecasts.AAA!.realised[0];
  assert.throws(() => reportedData(BLIND, other), {
    code: "invalid_data",
    message: new RegExp(
      `the return of AAA on 2015-07-31 is ${realised(BLIND)} in .+ and ${realised(other)} in .+, so`,
    ),
  });
});

test("rows that one output lacks are excluded from both, and counted", () => {
  const fewer = mlText({ skill: 0.1, tickers: ["AAA", "BBB", "CCC"] });
  const more = mlText({ skill: 0.1, tickers: ["AAA", "BBB", "CCC", "DDD"], scoreRows: 120 });
  const { comparison, outputs } = reportedData(fewer, more);
  assert.deepEqual([comparison!.rows, comparison!.tickers, comparison!.leftOut], [357, 3, [0, 119]]);
  assert.match(
    comparison!.rowsFinding,
    /357 rows .* for 3 tickers on 119 dates; up to 119 rows per output are excluded/,
  );
  assert.deepEqual(
    outputs.map(({ tickers }) => tickers.data!.rows.length),
    [3, 3],
  );
  assert.deepEqual(
    outputs.map(({ mu }) => mu.data!.bars.length),
    [3, 4],
    "mu are all there are",
  );
  const alone = reportedData(fewer).outputs[0]!;
  assert.deepEqual(outputs[0]!.verdict.tiles, alone.verdict.tiles);
});

test("without a common ticker nothing is compared", () => {
  const { comparison, outputs } = reportedData(
    mlText({ tickers: ["A", "B", "C"] }),
    mlText({ tickers: ["X", "Y", "Z"] }),
  );
  assert.deepEqual([comparison!.rows, comparison!.differences.pairs], [0, []]);
  assert.ok(outputs.every(({ skill }) => skill.absent !== undefined));
  assert.ok(
    outputs.every(({ verdict }) => verdict.facts.whyNone?.startsWith("No row that all outputs have")),
  );
});
