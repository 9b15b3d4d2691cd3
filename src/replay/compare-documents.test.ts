import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { compareDocuments } from "./compare-documents.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-replay-"));
after(() => rmSync(folder, { recursive: true, force: true }));

function documentFile(name: string, text: string) {
  const path = join(folder, name);
  writeFileSync(path, text);
  return { path, name };
}

async function compareTexts(before: string, after: string, isOtherBuild = false) {
  const [recorded, replayed] = [documentFile("a.json", before), documentFile("b.json", after)];
  const compared = await compareDocuments(recorded, replayed, isOtherBuild);
  return { ...compared, summary: compared.differences.summary() };
}

const text = (more: object) =>
  JSON.stringify({ schema: "s", id: "a", created_at: "t", machine: { n: 1 }, ...more });

test("the digest is that of the text without id, created_at, machine and white space, and counts the numbers", async () => {
  const spaced = `{ "schema" : "s",\n "id": "}{", "mu": {\t"A B": -1.5e-3, "c\\"]": [ 1, "2 ,3", null ] },
    "machine": {"n": [1, {"id": 2}]}, "id 2" : {"id": true}, "é": 1e5 }\n`;
  const compact = '{"schema":"s","mu":{"A B":-1.5e-3,"c\\"]":[1,"2 ,3",null]},"id 2":{"id":true},"é":1e5}';
  const digestOf = (text: string) => createHash("sha256").update(text).digest("hex");
  const { sha256, replayed_sha256, numbers, summary } = await compareTexts(spaced, compact);
  assert.deepEqual([sha256, replayed_sha256], [digestOf(compact), digestOf(compact)]);
  assert.deepEqual([numbers, summary], [3, undefined]);
  assert.equal((await compareTexts("{}", "{}")).sha256, digestOf("{}"));
});

test("a difference of one bit in one number is found, with its size and its member", async () => {
  const mu = { A: 0.1, "BRK.B": 0.2 };
  const bit = 0.2 + 2 ** -55;
  const { summary } = await compareTexts(text({ mu }), text({ mu: { ...mu, "BRK.B": bit } }));
  const [absolute, relative] = [bit - 0.2, (bit - 0.2) / 0.2];
  const first = { path: 'mu["BRK.B"]', recorded: 0.2, replayed: bit, absolute, relative };
  assert.deepEqual(summary, {
    numbers: 1,
    others: 0,
    first,
    largest: first,
    largest_relative: first,
    members: [{ name: "mu", numbers: 1, others: 0, largest: absolute }],
  });
});

test("the first, the largest and the relatively largest difference are separate", async () => {
  const { summary } = await compareTexts(
    text({ mu: { A: 1, B: 1e-6, C: 0 }, metrics: { n: 100 } }),
    text({ mu: { A: 1.5, B: 3e-6, C: 0.25 }, metrics: { n: 110 } }),
  );
  const { first, largest, largest_relative, members } = summary!;
  assert.deepEqual([first.path, largest?.path, largest_relative?.path], ["mu.A", "metrics.n", "mu.B"]);
  const counts = members.map(({ name, numbers }) => `${name} ${numbers}`);
  assert.deepEqual(counts, ["mu 3", "metrics 1"]);
});

test("members in only one document, lengths, nulls and texts are other differences", async () => {
  const { summary } = await compareTexts(
    text({ mu: { A: 1, B: 2 }, list: [1, 2], gone: { A: 1, B: 2 }, name: "x", score: null }),
    text({ mu: { A: 1, C: 2 }, list: [1, 2, 3], name: "y", score: 0 }),
  );
  assert.deepEqual([summary!.numbers, summary!.others], [0, 6]);
  const gone = await compareTexts(text({ gone: { A: 1 } }), text({}));
  assert.deepEqual(gone.summary!.first, { path: "gone", recorded: "{…}" });
});

test("tickers in another order are paired, whatever the order of the members", async () => {
  const numbers = { A: { x: [1, 2] }, B: { x: [3, 4] }, C: { x: [5, 6] } };
  const { A, B, C } = numbers;
  const before = text({ forecasts: numbers, mu: { A: 1, B: 2 } });
  const now = text({ mu: { B: 2, A: 1 }, forecasts: { C, A: { x: [1, 2.5] }, B } });
  const { summary } = await compareTexts(before, now);
  assert.deepEqual([summary!.numbers, summary!.first.path], [1, "forecasts.A.x[1]"]);
  assert.equal(summary!.others, 1, "the order of mu");
  assert.equal((await compareTexts(text({ a: A, b: B }), text({ b: B, a: A }))).summary!.others, 1);
});

test("another order and a repeated key are not identical", async () => {
  for (const [recorded, replayed] of [
    ['{"mu":{"A":1,"B":2}}', '{"mu":{"B":2,"A":1}}'],
    ['{"mu":{"A":{"x":1,"y":2}}}', '{"mu":{"A":{"y":2,"x":1}}}'],
    ['{"mu":{"A":5,"A":1}}', '{"mu":{"A":1}}'],
    ['{"mu":{"A":1,"A":1}}', '{"mu":{"A":1}}'],
    ['{"mu":1,"mu":1}', '{"mu":1}'],
  ] as const)
    assert.ok((await compareTexts(recorded, replayed)).summary!.others > 0, recorded);
});

test("another spelling of the same values is counted separately and shown from its start", async () => {
  for (const [recorded, replayed, count, path, ...first] of [
    ['{"mu":{"A":2,"B":1.0,"C":3.0}}', '{"mu":{"A":2,"B":1,"C":3}}', 2, "mu.B", "1.0", "1"],
    ['{"mu": {"A": 1e-07}}', '{"mu":{"A":1e-7}}', 1, "mu.A", "1e-07", "1e-7"],
    [`{"a":"${"\\n".repeat(300_000)}\\u0041"}`, `{"a":"${"\\n".repeat(300_000)}A"}`, 1, "a"],
  ] as const) {
    const summary = (await compareTexts(recorded, replayed)).summary!;
    assert.deepEqual(
      [summary.numbers, summary.others, summary.spellings],
      [0, 0, count],
      recorded.slice(0, 50),
    );
    assert.equal(summary.first.path, path);
    if (first.length > 0) assert.deepEqual([summary.first.recorded, summary.first.replayed], first);
  }
});

test("a differing number is the first difference, also after other spellings", async () => {
  const { summary } = await compareTexts(
    '{"forecasts":{"A":[1.0]},"mu":{"A":2}}',
    '{"forecasts":{"A":[1]},"mu":{"A":1}}',
  );
  assert.deepEqual([summary!.first.path, summary!.numbers, summary!.spellings], ["mu.A", 1, 1]);
});

test("tickers with names of JavaScript's own members are compared like others", async () => {
  const mu = (value: number) =>
    `{"mu":{"__proto__":${value},"constructor":1},"fits":{"A":{"__proto__":${value}}}}`;
  assert.equal((await compareTexts(mu(1), mu(1))).summary, undefined);
  const { summary } = await compareTexts(mu(1), mu(2));
  assert.deepEqual([summary!.first.path, summary!.numbers], ["mu.__proto__", 2]);
});

test("the differences that a verdict keeps are bounded", async () => {
  const many = (value: number) =>
    Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`${"m".repeat(500)}${i}`, value]));
  const { summary } = await compareTexts(
    text({ mu: many(1), long: "x".repeat(100_000), ...many(1) }),
    text({ mu: many(2), long: "y", ...many(2) }),
  );
  assert.ok(JSON.stringify(summary).length < 20_000);
  assert.deepEqual([summary!.numbers, summary!.others], [600, 1]);
});

test("the first difference of two long texts shows where they differ, and cuts no character", async () => {
  for (const before of ["the same words ".repeat(40), '"\\'.repeat(5_000), "😀".repeat(5_000)]) {
    const sentence = (word: string) => text({ verdict: { sentence: `${before} ${word} skill` } });
    const { first } = (await compareTexts(sentence("gains"), sentence("loses"))).summary!;
    assert.equal(first.path, "verdict.sentence");
    assert.match(String(first.recorded), /^….* gains/s);
    assert.match(String(first.replayed), /^….* loses/s);
    for (const shown of [first.recorded, first.replayed])
      assert.ok(String(shown).isWellFormed() && Buffer.byteLength(JSON.stringify(shown)) <= 200);
  }
});

test("an output of another version may lack only what later versions added", async () => {
  const old = {
    metrics: { score: { by_ticker: { A: { n: 1 }, B: { n: 1 } } }, intervals: { alpha: 0.1 } },
    model: { intervals: { alpha: 0.1 } },
    training: { A: { best_epoch: 1 } },
    provenance: { device: "cpu" },
  };
  const table = { by_volatility: [{ n: 1 }] };
  const now = {
    mu_dates: { A: "2024-01-01" },
    training: { A: { best_epoch: 1, zero_validation_loss: 1 } },
    metrics: {
      score: { by_ticker: { A: { n: 1, up_share: 0.5 }, B: { n: 1, up_share: 0.5 } } },
      intervals: {
        method: "split",
        alpha: 0.1,
        ...table,
        other_methods: { split: { ...table, score_ratio: 1 } },
      },
    },
    model: { intervals: { method: "split", alpha: 0.1 } },
    provenance: { device: "cpu", config: "{}" },
  };
  const { differences, summary } = await compareTexts(JSON.stringify(old), JSON.stringify(now), true);
  assert.equal(summary, undefined);
  assert.deepEqual(differences.lacks.sort(), [
    "metrics.intervals.by_volatility",
    "metrics.intervals.method",
    "metrics.intervals.other_methods",
    "metrics.score.by_ticker.*.up_share",
    "model.intervals.method",
    "mu_dates",
    "provenance.config",
    "training.*.zero_validation_loss",
  ]);
  const ticker = await compareTexts('{"mu":{"A":1}}', '{"mu":{"A":1,"B":2}}', true);
  assert.deepEqual(ticker.summary?.first, { path: "mu.B", replayed: 2 });
});

test("an entry that only one document has does not hold up the others", async () => {
  const compared = compareTexts('{"mu":{"X":1,"A":nul}}', '{"mu":{"A":1,"B":2,"C":nul}}');
  // The fault that comes first.
  await assert.rejects(compared, { message: /^a\.json/ });
});

test("a value that is not JSON is refused where the documents differ", async () => {
  for (const value of ["nul", "01", '"\\x"', "[1,,2]", "{1}", '{"a":1,,}'])
    await assert.rejects(compareTexts(`{"mu":${value}}`, '{"mu":1}'), { code: "unreadable_blob" }, value);
});
