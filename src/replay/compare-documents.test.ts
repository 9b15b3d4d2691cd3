import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { mayLackNothing, mayLackOptional } from "./compare-documents.ts";
import { compareTexts } from "./documents.testing.ts";

const text = (more: object) =>
  JSON.stringify({ schema: "s", id: "a", created_at: "t", machine: { n: 1 }, ...more });

test("the digest of the compared text excludes id, created_at and machine", async () => {
  const [first, second] = [
    text({ mu: { A: 0.1 } }),
    '{"schema":"s","id":"b","created_at":"u","mu":{"A":0.1}}',
  ];
  const { differences, recorded, replayed } = await compareTexts(first, second);
  assert.equal(differences.total, 0);
  assert.equal(recorded.sha256, createHash("sha256").update('{"schema":"s","mu":{"A":0.1}}').digest("hex"));
  assert.deepEqual(recorded, replayed);
});

test("nested members with these names are compared", async () => {
  const { differences } = await compareTexts(
    text({ mu: { id: 1, machine: 2 } }),
    text({ mu: { id: 2, machine: 2 } }),
  );
  assert.equal(differences.summary()?.first.path, "mu.id");
});

test("white space between tokens does not count, but in texts it does", async () => {
  const spaced = '{ "schema" : "s",\n "mu": {\t"A B": -1.5e-3, "C": [ 1, 2 ] } }\n';
  const same = await compareTexts(spaced, '{"schema":"s","mu":{"A B":-1.5e-3,"C":[1,2]}}');
  assert.equal(same.differences.total, 0);
  assert.equal(same.recorded.sha256, same.replayed.sha256);
  const other = await compareTexts(spaced, '{"schema":"s","mu":{"AB":-1.5e-3,"C":[1,2]}}');
  assert.equal(other.differences.summary()?.others, 2);
});

test("numbers are counted as values, not inside texts", async () => {
  const { recorded } = await compareTexts('{"a":[1,-2.5e-7,"3",null,true],"b 4":{"c":0},"d":"\\"5"}', "{}");
  assert.equal(recorded.numbers, 3);
});

test("equal members are equal wherever in the two documents they begin, across the parts in which files are read", async () => {
  const mu = Object.fromEntries(Array.from({ length: 25_000 }, (_, i) => [`T${i}`, i / 7]));
  for (const note of ["", "x", "x".repeat(1_000)]) {
    const [before, after] = [text({ note: "", mu, rest: [mu] }), text({ note, mu, rest: [mu] })];
    const { differences } = await compareTexts(before, after);
    assert.equal(differences.total, note === "" ? 0 : 1, `${note.length} bytes`);
  }
});

test("a difference of one bit in one number is found, with its size and its member", async () => {
  const mu = { A: 0.1, "BRK.B": 0.2 };
  const bit = 0.2 + 2 ** -55;
  const { differences } = await compareTexts(text({ mu }), text({ mu: { ...mu, "BRK.B": bit } }));
  const [absolute, relative] = [bit - 0.2, (bit - 0.2) / 0.2];
  const first = { path: 'mu["BRK.B"]', recorded: 0.2, replayed: bit, absolute, relative };
  assert.deepEqual(differences.summary(), {
    numbers: 1,
    others: 0,
    first,
    largest: first,
    largest_relative: first,
    members: [{ name: "mu", numbers: 1, others: 0, largest: absolute }],
  });
});

test("the first, the largest and the relatively largest difference are separate", async () => {
  const { differences } = await compareTexts(
    text({ mu: { A: 1, B: 1e-6, C: 0 }, metrics: { n: 100 } }),
    text({ mu: { A: 1.5, B: 3e-6, C: 0.25 }, metrics: { n: 110 } }),
  );
  const summary = differences.summary()!;
  assert.equal(summary.numbers, 4);
  assert.equal(summary.first.path, "mu.A");
  assert.equal(summary.largest?.path, "metrics.n");
  assert.equal(summary.largest_relative?.path, "mu.B");
  assert.deepEqual(
    summary.members.map(({ name, numbers }) => [name, numbers]),
    [
      ["mu", 3],
      ["metrics", 1],
    ],
  );
});

test("members in only one document, lengths, nulls and texts are other differences", async () => {
  const { differences } = await compareTexts(
    text({ mu: { A: 1, B: 2 }, list: [1, 2], gone: true, name: "x", score: null }),
    text({ mu: { A: 1, C: 2 }, list: [1, 2, 3], name: "y", score: 0 }),
  );
  const summary = differences.summary()!;
  assert.equal(summary.numbers, 0);
  assert.equal(summary.others, 6);
  assert.deepEqual(summary.first, { path: "mu.B", recorded: 2 });
});

test("another order and a duplicate key are not identical", async () => {
  for (const [recorded, replayed] of [
    ['{"mu":{"A":1,"B":2}}', '{"mu":{"B":2,"A":1}}'],
    ['{"mu":{"A":1.0,"B":2}}', '{"mu":{"B":2,"A":1}}'],
    ['{"mu":{"A":5,"A":1}}', '{"mu":{"A":1}}'],
    ['{"mu":{"A":1.0,"A":1}}', '{"mu":{"A":1}}'],
  ] as const) {
    const summary = (await compareTexts(recorded, replayed)).differences.summary()!;
    assert.deepEqual([summary.first.path, summary.others, summary.spellings], ["mu", 1, undefined], recorded);
  }
});

test("another spelling of the same values is counted separately and shown from its start", async () => {
  const long = "x".repeat(300);
  for (const [recorded, replayed, first] of [
    ['{"mu":{"A":2,"B":1.0,"C":3.0}}', '{"mu":{"A":2,"B":1,"C":3}}', ["1.0", "1", 2]],
    ['{"mu":{"A":1e-07}}', '{"mu":{"A":1e-7}}', ["1e-07", "1e-7", 1]],
    ['{"mu":{"A":0.1000000000000000055}}', '{"mu":{"A":0.1}}', ["0.1000000000000000055", "0.1", 1]],
    ['{"mu":{"\\u00c4":"\\u0041\\/"}}', '{"mu":{"Ä":"A/"}}', ['"\\u00c4"', '"Ä"', 2]],
    [`{"mu":["${long}\\u0041"]}`, `{"mu":["${long}A"]}`, [undefined, undefined, 1]],
  ] as const) {
    const summary = (await compareTexts(recorded, replayed)).differences.summary()!;
    assert.deepEqual([summary.numbers, summary.others, summary.spellings], [0, 0, first[2]], recorded);
    assert.equal(summary.first.path, "mu");
    if (first[0] === undefined) continue;
    assert.deepEqual([summary.first.recorded, summary.first.replayed], first.slice(0, 2));
  }
});

test("a spelling is found in large values too, and a differing number is still the first difference", async () => {
  const rows = Array.from({ length: 3_000 }, (_, i) => i / 7);
  const plain = JSON.stringify({ forecasts: { A: rows, B: rows }, mu: { A: 1 } });
  const spelled = plain.replaceAll(/\b(\d+)(?=[,\]])/g, (number, _, at) =>
    plain[at - 1] === "." ? number : `${number}.0`,
  );
  const { differences } = await compareTexts(spelled, plain, mayLackNothing, 1_000);
  const summary = differences.summary()!;
  const wholes = 2 * rows.filter(Number.isInteger).length;
  assert.deepEqual([summary.numbers, summary.others, summary.spellings], [0, 0, wholes]);
  const changed = await compareTexts(spelled.replace('{"A":1}', '{"A":2}'), plain, mayLackNothing, 1_000);
  const both = changed.differences.summary()!;
  assert.deepEqual([both.first.path, both.numbers, both.spellings], ["mu.A", 1, wholes]);
});

test("a text with many escapes uses no stack", async () => {
  const text = "\\n".repeat(300_000);
  const { differences } = await compareTexts(`{"a":"${text}\\u0041"}`, `{"a":"${text}A"}`);
  assert.equal(differences.summary()!.spellings, 1);
});

test("large values are compared member by member, and element by element", async () => {
  const rows = Array.from({ length: 800 }, (_, i) => Array.from({ length: 50 }, (_, j) => (i + j) / 7));
  const tickers = (change: number) => ({
    AAA: { predicted: rows },
    BBB: { predicted: rows.with(700, [change]) },
    __proto__x: { predicted: rows.slice(0, 3) },
  });
  const { differences, recorded } = await compareTexts(
    text({ forecasts: tickers(1) }),
    text({ forecasts: tickers(2) }),
    mayLackNothing,
    1_000,
  );
  assert.equal(recorded.numbers, 50 * 800 + 50 * 799 + 1 + 150);
  const summary = differences.summary()!;
  assert.equal(summary.numbers, 1);
  assert.equal(summary.first.path, "forecasts.BBB.predicted[700][0]");
  const shorter = await compareTexts(
    text({ forecasts: rows.concat(rows) }),
    text({ forecasts: rows.concat(rows, [[1]]) }),
    mayLackNothing,
    1_000,
  );
  assert.deepEqual(shorter.differences.summary()?.first, {
    path: "forecasts.length",
    recorded: 1_600,
    replayed: 1_601,
  });
});

test("the differences that a verdict keeps are bounded", async () => {
  const mu = (value: number) => Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`T${i}`, value]));
  const members = (value: number) =>
    Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`${"m".repeat(500)}${i}`, value]));
  const { differences } = await compareTexts(
    text({ mu: mu(1), long: "x".repeat(100_000), ...members(1) }),
    text({ mu: mu(2), long: "y", ...members(2) }),
  );
  assert.ok(JSON.stringify(differences.summary()).length < 20_000);
  assert.equal(differences.summary()?.numbers, 5_300);
});

test("numbers at the ends of float64's range, and beyond, have differences that JSON can represent", async () => {
  const recorded = '{"mu":{"A":1e999,"B":-1e999,"C":-1.7e308,"D":5e-324,"E":0}}';
  const { differences } = await compareTexts(recorded, '{"mu":{"A":1,"B":1,"C":1.7e308,"D":1,"E":1}}');
  const summary = differences.summary()!;
  assert.deepEqual(JSON.parse(JSON.stringify(summary)), summary);
  assert.deepEqual([summary.numbers, summary.others], [3, 2]);
  assert.deepEqual(summary.first, { path: "mu.A", recorded: "Infinity", replayed: 1 });
  assert.equal(summary.largest?.absolute, Number.MAX_VALUE);
  assert.equal(summary.largest_relative?.path, "mu.C");
});

test("a duplicate key is a difference, whichever of the two is unchanged", async () => {
  for (const recorded of ['{"mu":{"A":1,"A":2}}', '{"mu":{"A":2,"A":1}}']) {
    const { differences } = await compareTexts(recorded, '{"mu":{"A":1}}');
    assert.equal(differences.total, 1, recorded);
  }
});

test("an output of an older version may lack only what later versions added", async () => {
  const old = {
    metrics: { score: { by_ticker: { A: { n: 1 }, B: { n: 1 } } }, intervals: { alpha: 0.1 } },
    model: { intervals: { alpha: 0.1 } },
    training: { A: { best_epoch: 1 } },
    provenance: { device: "cpu" },
  };
  const now = {
    mu_dates: { A: "2024-01-01" },
    training: { A: { best_epoch: 1, zero_validation_loss: 1 } },
    metrics: {
      score: { by_ticker: { A: { n: 1, up_share: 0.5 }, B: { n: 1, up_share: 0.5 } } },
      intervals: { method: "split", alpha: 0.1 },
    },
    model: { intervals: { method: "split", alpha: 0.1 } },
    provenance: { device: "cpu", config: "{}" },
  };
  const { differences } = await compareTexts(JSON.stringify(old), JSON.stringify(now), mayLackOptional);
  assert.equal(differences.summary(), undefined);
  assert.deepEqual(differences.lacks, [
    "metrics.score.by_ticker.*.up_share",
    "metrics.intervals.method",
    "model.intervals.method",
    "training.*.zero_validation_loss",
    "provenance.config",
    "mu_dates",
  ]);
  const ticker = await compareTexts('{"mu":{"A":1}}', '{"mu":{"A":1,"B":2}}', mayLackOptional);
  assert.deepEqual(ticker.differences.summary()?.first, { path: "mu.B", replayed: 2 });
});

test("an older output lacks coverage by volatility and by dates, for the requested method and the others", async () => {
  const intervals = (table: object) =>
    JSON.stringify({
      metrics: {
        intervals: { alpha: 0.1, ...table, other_methods: { split: { ...table, score_ratio: 1 } } },
      },
    });
  const table = { by_volatility: [{ n: 1 }], joint_misses: { dates: 1, half_missed: 0 } };
  const { differences } = await compareTexts(intervals({}), intervals(table), mayLackOptional);
  assert.equal(differences.summary(), undefined);
  assert.deepEqual(differences.lacks, [
    "metrics.intervals.other_methods.*.by_volatility",
    "metrics.intervals.other_methods.*.joint_misses",
    "metrics.intervals.by_volatility",
    "metrics.intervals.joint_misses",
  ]);
});

test("an older output lacks the same member of every ticker, even if tickers are compared one by one", async () => {
  const fits = (more: object) =>
    JSON.stringify({
      fits: Object.fromEntries(["A", "B", "C"].map((ticker) => [ticker, { fit_rows: 1, ...more }])),
    });
  const { differences } = await compareTexts(fits({}), fits({ importances: [] }), mayLackOptional, 50);
  assert.equal(differences.summary(), undefined);
  assert.deepEqual(differences.lacks, ["fits.*.importances"]);
});

for (const [what, same, parsedBytes] of [
  ["letters", "x".repeat(5_000), undefined],
  ["control characters", "\u0001".repeat(5_000), undefined],
  ["surrogate pairs", "😀".repeat(5_000), undefined],
  ["letters of a text that is compared in pieces", "x".repeat(5_000), 1_000],
] as const) {
  test(`the first difference of two long texts shows where they differ, after ${what}`, async () => {
    const { differences } = await compareTexts(
      text({ verdict: { sentence: `${same} gains skill ${same}` } }),
      text({ verdict: { sentence: `${same} loses skill ${same}` } }),
      mayLackNothing,
      parsedBytes,
    );
    const { path, recorded, replayed } = differences.summary()!.first;
    assert.equal(path, "verdict.sentence");
    assert.match(String(recorded), /^….* gains/s);
    assert.match(String(replayed), /^….* loses/s);
    for (const shown of [recorded, replayed]) {
      assert.ok(String(shown).isWellFormed());
      assert.ok(Buffer.byteLength(JSON.stringify(shown)) <= 200);
    }
  });
}
