import assert from "node:assert/strict";
import { test } from "node:test";
import { readOutput } from "../../client/read-output.ts";
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

test("outputs are distinguished if one is better, and a careful reader chooses that one", () => {
  const { comparison, outputs } = reportedData(BLIND, SKILLED);
  const { names, rows, dates, tests, choice, pairsFinding, skillFinding, confidenceFinding } = comparison!;
  assert.deepEqual([names, rows, dates], [["lstm", "ridge"], 952, 119]);
  assert.deepEqual(
    tests.pairs.map(({ measure, first, second }) => [measure, first, second]),
    [
      ["order", 0, 1],
      ["squared error", 0, 1],
    ],
  );
  const gain = slowGain(JSON.parse(BLIND), JSON.parse(SKILLED));
  assert.ok(Math.abs(tests.pairs[1]!.gain - gain) < 1e-12);
  assert.ok(tests.pairs.every(({ t, p }) => t! < -2 && p! <= 0.05));
  assert.match(
    pairsFinding,
    /^ridge was better than lstm by squared error .*; ridge was better than lstm by IC/,
  );
  assert.match(
    skillFinding,
    /^Probability that the best of 2 outputs .* p under 0.001 for the order \(the best is ridge\), p .* against zero.* The adjusted p in the table decides, at most 0\.05 for evidence of skill/,
  );
  assert.equal(confidenceFinding, "A model confidence set needs 250 dates.");
  assert.equal(choice.index, 1);
  assert.match(choice.sentence, /would choose ridge, the only one with evidence of skill/);
  assert.deepEqual(
    outputs.map(({ verdict }) => verdict.state),
    ["none", "skill"],
    "worse alone, by no more than the worst of two is by chance",
  );
});

test("the tests against baselines equal the verdict's: its t's of the order, and of Clark and West", () => {
  const outputs = [BLIND, SKILLED].map((text) => reportedData(text, text).comparison!.tests.skill![0]!);
  for (const [k, text] of [BLIND, SKILLED].entries()) {
    const judged = readOutput(JSON.parse(text)).verdict!.judged.find(({ rows }) => rows === "score")!;
    const { order, zero, mean } = outputs[k]!;
    assert.equal(order.t, judged.order.t);
    assert.equal(zero, judged.sizes.against.zero.clark_west_t);
    assert.equal(mean, judged.sizes.against.mean.clark_west_t);
  }
});

test("evidence that a single output shows may not count beside others, and its sentence says so", () => {
  const states = (texts: readonly string[]) => reportedData(...texts).outputs.map(({ verdict }) => verdict);
  // The forecasts of this seed have no skill, but an order with a t of 2.0.
  const lucky = mlText({ seed: 30 });
  const blind = Array.from({ length: 7 }, (_, seed) => mlText({ seed: seed + 1 }));
  const score = readOutput(JSON.parse(lucky)).verdict!.judged.find(({ rows }) => rows === "score")!;
  assert.equal(score.order.state, "evidence");
  const verdicts = states([lucky, ...blind]);
  assert.equal(verdicts[0]!.title, "No evidence of skill");
  assert.match(
    verdicts[0]!.sentences[0]!,
    /^No evidence of skill on the common rows, after correction for 8 outputs \(Romano and Wolf 2005\): adjusted p 0\.\d{3} for skill in the order, 0\.\d{3} for skill in the sizes; 0\.05 needed\.$/,
  );
  assert.match(
    verdicts[0]!.sentences[1]!,
    /^On its own, this output has the verdict "Evidence of skill, sizes too large", but among several/,
  );
  assert.match(verdicts[0]!.sentences[2]!, /^Evidence of skill.* on the score rows\.$/);
  const skilled = mlText({ skill: 0.2 });
  const beside = states([skilled, ...blind]);
  assert.doesNotMatch(beside[0]!.sentences.join(" "), /score rows/);
  assert.equal(beside[0]!.title, "Evidence of skill");
  assert.match(
    beside[0]!.sentences[0]!,
    /^Evidence of skill on the common rows, after correction for 8 outputs /,
  );
});

test("from 250 dates on, confidence sets say which output may be the best", () => {
  const [better, worse] = [mlText({ skill: 0.2, scoreRows: 300 }), mlText({ scoreRows: 300 })];
  const { tests, confidenceFinding, choice } = reportedData(worse, better).comparison!;
  assert.deepEqual(tests.confidence, { order: [0, 1], sizes: [0, 1] });
  assert.equal(
    confidenceFinding,
    "By IC, ridge (2) is the best, with 95\u202f% confidence. By squared error, ridge (2) is the best, with 95\u202f% confidence (model confidence set, Hansen, Lunde and Nason 2011).",
  );
  assert.equal(choice.index, 1);
  const same = reportedData(better, better).comparison!;
  assert.deepEqual(same.tests.confidence, { order: [1, 1], sizes: [1, 1] });
});

test("fewer than 30 common dates distinguish no outputs", () => {
  const few = [mlText({ scoreRows: 4, skill: 0.4 }), dlText({ scoreRows: 4, seed: 2 })];
  const { tests, pairsFinding, skillFinding, confidenceFinding } = reportedData(...few).comparison!;
  assert.deepEqual(
    [tests.skill, tests.confidence, tests.pairs, tests.ability],
    [undefined, undefined, [], []],
  );
  assert.match(pairsFinding, /^3 dates are too few to tell the outputs apart; at least 30 are needed/);
  assert.match(skillFinding, /^3 dates are too few to test an output/);
  assert.match(confidenceFinding, /needs 250 dates/);
});

test("a careful reader chooses none without skill, and neither of two equal ones", () => {
  const none = reportedData(mlText(), BLIND).comparison!.choice;
  assert.deepEqual(
    [none.index, /chooses none: no output shows evidence/.test(none.sentence)],
    [undefined, true],
  );
  const same = reportedData(SKILLED, SKILLED).comparison!;
  assert.deepEqual(same.names, ["ridge (1)", "ridge (2)"]);
  assert.equal(same.choice.index, undefined);
  assert.match(same.choice.sentence, /does not separate ridge \(1\), ridge \(2\)/);
  assert.deepEqual(
    same.tests.pairs.map(({ t, p }) => [t, p]),
    [
      [null, null],
      [null, null],
    ],
  );
  const open = reportedData(mlText({ isOpen: true }), dlText({ isOpen: true })).comparison!;
  assert.match(open.choice.sentence, /chooses none yet/);
  assert.deepEqual([open.rows, open.tests.pairs.length], [0, 0]);
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
    value("R² against zero"),
    documents.map(({ metrics }) => metrics.out_of_fold!.pooled.r2_zero),
  );
  assert.equal(value("Interval score"), undefined, "out-of-fold rows have no intervals");
  for (const [k, { metrics, verdict: written }] of documents.entries()) {
    const { verdict, skill, tickers } = outputs[k]!;
    const judged = written!.judged.find(({ rows }) => rows === "out_of_fold")!;
    assert.deepEqual([verdict.facts.judgedRows, verdict.facts.rows], ["out_of_fold", n]);
    assert.equal(skill.data!.days.length, metrics.out_of_fold!.cross_section.dates);
    assert.ok(tickers.data!.rows.every((row) => row.n > 0));
    const tested = comparison!.tests.skill![k]!;
    assert.deepEqual(
      [tested.order.t, tested.zero, tested.mean],
      [judged.order.t, judged.sizes.against.zero.clark_west_t, null],
      "no output records the training means of these rows",
    );
    assert.ok(tested.sizes.p !== null, "so its sizes are tested against zero");
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

test("coverage by volatility is shown only for all rows for which the output has it", () => {
  const config = { intervals: {} };
  const whole = mlText({ config, scoreRows: 300 });
  const fewer = mlText({ config, scoreRows: 300, tickers: ["AAA", "BBB", "CCC"] });
  const told = (...texts: string[]) =>
    reportedData(...texts).outputs.map(({ intervals, verdict }) => [
      intervals.data!.volatility !== undefined,
      verdict.sentences.join(" ").includes("quietest tenth"),
    ]);
  assert.deepEqual(told(whole, whole), [
    [true, true],
    [true, true],
  ]);
  assert.deepEqual(told(whole, fewer)[0], [false, false]);
});

test("without a common ticker nothing is compared", () => {
  const { comparison, outputs } = reportedData(
    mlText({ tickers: ["A", "B", "C"] }),
    mlText({ tickers: ["X", "Y", "Z"] }),
  );
  assert.deepEqual([comparison!.rows, comparison!.tests.pairs], [0, []]);
  assert.ok(outputs.every(({ skill }) => skill.absent !== undefined));
  assert.ok(
    outputs.every(({ verdict }) => verdict.facts.whyNone?.startsWith("No row that all outputs have")),
  );
});
