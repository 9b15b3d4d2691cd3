import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Random, seededRandom } from "../../test/twins/random.ts";
import { countFeatures } from "./cross-section.ts";
import { NO_LABEL_DAY } from "./labels.ts";
import { joinLateTicker, type Peers } from "./late-ticker.ts";
import { firstBlock, type RefitBlock, tickerBlocks } from "./refit-blocks.ts";
import { MIN_DATE_TICKERS, relativeTargets } from "./relative-target.ts";
import { buildTickerPanel, MIN_FIT_ROWS, type TickerInput, type TickerPanel } from "./ticker-panel.ts";

const LENGTH = 90;
const CUT = 20;
const WINDOW = { start: 0, end: LENGTH - 1, learningEnd: CUT, cut: CUT };
const BLOCKS: RefitBlock[] = [
  { from: CUT, known: undefined },
  ...[30, 41, 52, 63, 74].map((day) => ({ from: day, known: day })),
];

function joined(...given: Parameters<typeof joinLateTicker>): TickerPanel | undefined {
  return joinLateTicker(...given);
}

/** Numbers, about one in `weight` of which is missing. */
function listOf(length: number, weight: number): fc.Arbitrary<number[]> {
  const present = { arbitrary: fc.double({ min: 1, max: 2, noNaN: true }), weight };
  return fc.array(fc.oneof(present, fc.constant(Number.NaN)), { minLength: length, maxLength: length });
}

/** A ticker that starts after the cut, or has few rows before it, with gaps and missing values. */
const inputs = fc
  .record({
    first: fc.integer({ min: 5, max: 50 }),
    prices: listOf(LENGTH, 12),
    values: listOf(2 * LENGTH, 60),
    slow: fc.integer({ min: 0, max: 60 }),
    delay: fc.constantFrom(0, 0, 1, 3),
  })
  .map(({ first, prices, values, slow, delay }): TickerInput => {
    const days = Int32Array.from({ length: LENGTH }, (_, day) => day);
    const features = Float64Array.from(values, (value, i) =>
      i < LENGTH || i - LENGTH >= slow ? value : Number.NaN,
    );
    return {
      ticker: "A",
      prices: {
        ticker: "A",
        days,
        prices: Float64Array.from(prices, (p, day) => (day < first ? Number.NaN : p)),
      },
      features: { ticker: "A", days, columns: ["f", "g"], values: features },
      window: { ...WINDOW, delay },
    };
  });

/** The ticker with the values of both blobs lost after a date. */
function lostAfter(last: number, input: TickerInput): TickerInput {
  const kept = (values: Float64Array) => values.map((value, i) => (i % LENGTH > last ? Number.NaN : value));
  return {
    ...input,
    prices: { ...input.prices, prices: kept(input.prices.prices) },
    features: { ...input.features, values: kept(input.features.values) },
  };
}

function fitRows(input: TickerInput, cut: number) {
  try {
    return buildTickerPanel({ ...input, window: { ...input.window, cut } });
  } catch {
    return undefined;
  }
}

test("later data than the date on which a ticker joins does not affect its fit rows", () => {
  const property = fc.property(inputs, (input) => {
    const panel = joined(input, BLOCKS, {});
    if (panel === undefined) return;
    const lost = joined(lostAfter(panel.joins!, input), BLOCKS, {})!;
    assert.equal(lost.joins, panel.joins);
    assert.deepEqual(lost.columns, panel.columns);
    assert.deepEqual(lost.fit, panel.fit);
    const learned = panel.fit.length * panel.columns.length;
    assert.deepEqual(lost.x.subarray(0, learned), panel.x.subarray(0, learned));
  });
  fc.assert(property, { seed: 4, numRuns: 200 });
});

test("a late ticker has only allowed features", () => {
  const days = Int32Array.from({ length: LENGTH }, (_, day) => day);
  const input: TickerInput = {
    ticker: "A",
    prices: {
      ticker: "A",
      days,
      prices: Float64Array.from(days, (day) => (day < 15 ? Number.NaN : 1 + day)),
    },
    features: {
      ticker: "A",
      days,
      columns: ["f", "g"],
      values: Float64Array.from({ length: 2 * LENGTH }, (_, i) => i),
    },
    window: WINDOW,
  };
  const panel = joined(input, BLOCKS, {}, { features: new Set(["g", "h"]) })!;
  assert.deepEqual([panel.columns, panel.x[0]], [["g"], LENGTH + 15]);
  assert.equal(joined(input, BLOCKS, {}, { features: new Set(["h"]) }), undefined);
  const named = { ...input, features: { ...input.features, columns: ["f", "f (z)"] } };
  const cells = { numbers: new Map([["f", 0]]), first: 0, cells: LENGTH };
  const counts = { ...cells, counts: new Int32Array(LENGTH).fill(9) };
  const besideZScores = ({ x }: { readonly x: Float64Array }) => x;
  assert.deepEqual(joined(named, BLOCKS, { counts, besideZScores })!.columns, ["f", "f (z)"]);
  assert.equal(joined(named, BLOCKS, { counts, besideZScores })!.zScores, 1);
});

const COLUMNS = ["f", "g", "h"];

/** A ticker with stretches of prices, gaps and features that start late, end early, or lack values on separate dates. */
function randomInput(random: Random): TickerInput {
  const days = Int32Array.from({ length: LENGTH }, (_, day) => day);
  const [first, last] = [random.below(35), random.below(4) === 0 ? 50 + random.below(30) : LENGTH];
  const gap = random.below(3) === 0 ? random.below(LENGTH) : LENGTH;
  const spacing = random.below(8) === 0 ? 2 : 1;
  const hasPrice = (day: number) =>
    day >= first &&
    day < last &&
    (day < gap || day > gap + 14) &&
    day % spacing === 0 &&
    random.below(60) > 0;
  const columns = COLUMNS.slice(0, 1 + random.below(3));
  const values = columns.flatMap(() => {
    const [from, to] = [
      random.below(2) * random.below(75),
      random.below(6) === 0 ? random.below(LENGTH) : LENGTH,
    ];
    const early = random.below(3) === 0 ? random.below(from + 1) : -1;
    const rare = random.below(6) === 0 ? 2 : 200;
    return Array.from(days, (day) =>
      day === early || (day >= from && day < to && random.below(rare) > 0) ? random.normal() : Number.NaN,
    );
  });
  return {
    ticker: "A",
    prices: {
      ticker: "A",
      days,
      prices: Float64Array.from(days, (d) => (hasPrice(d) ? 1 + random.uniform() : 0)),
    },
    features: { ticker: "A", days, columns, values: Float64Array.from(values) },
    window: { ...WINDOW, delay: random.below(2) * random.below(4) },
  };
}

/** The rows of a ticker that others are compared with: it lacks some dates and occasionally a feature. */
function randomPeer(random: Random, ticker: string) {
  const days = Int32Array.from({ length: LENGTH }, (_, day) => day).filter(() => random.below(12) > 0);
  return {
    ticker,
    columns: COLUMNS.filter(() => random.below(6) > 0),
    days,
    labelDays: days.map((_, i) => days[i + 1] ?? NO_LABEL_DAY),
    y: Float64Array.from(days, (_, i) => (i + 1 < days.length ? random.normal() : Number.NaN)),
    fit: Int32Array.from(days.keys()).filter((i) => i + 1 < days.length && days[i + 1]! <= CUT),
  };
}

function peersOf(
  others: readonly ReturnType<typeof randomPeer>[],
  { hasTargets, hasScores }: { readonly hasTargets: boolean; readonly hasScores: boolean },
): Peers {
  return {
    ...(hasTargets ? { targetsOf: relativeTargets(others).ofOther } : {}),
    ...(hasScores ? { counts: countFeatures(others, new Set(COLUMNS)), besideZScores: ({ x }) => x } : {}),
  };
}

const SHORT_BLOCKS: RefitBlock[] = [
  BLOCKS[0]!,
  ...Array.from({ length: 16 }, (_, b) => ({ from: 25 + 4 * b, known: 25 + 4 * b })),
];

/** The first block with enough fit rows: builds the whole panel at each block and counts. */
function slowlyJoined(
  input: TickerInput,
  { targetsOf }: Peers,
  others: readonly ReturnType<typeof randomPeer>[],
) {
  for (const { known } of SHORT_BLOCKS.slice(1)) {
    const panel = fitRows(input, known!);
    const targets = panel === undefined ? undefined : targetsOf?.(panel).values;
    const isCompared = (row: number) =>
      panel!.columns.every((name) => {
        const have = others.filter(
          ({ columns, days }) => columns.includes(name) && days.includes(panel!.days[row]!),
        );
        return others.length === 0 || have.length >= MIN_DATE_TICKERS;
      });
    const fit = [...(panel?.fit ?? [])].filter(
      (row) => isCompared(row) && !Number.isNaN(targets?.[row] ?? 0),
    );
    if (fit.length < MIN_FIT_ROWS) continue;
    const score = [...panel!.score].filter((row) => panel!.days[row]! >= known! && isCompared(row));
    const at = (rows: readonly number[]) => rows.map((row) => panel!.days[row]!);
    return { joins: known, columns: panel!.columns, fit: at(fit), score: at(score) };
  }
  return { joins: undefined };
}

test("a ticker joins at the block that building its panel at each block in turn gives, with later and additional features", () => {
  const random = seededRandom(17);
  let [joining, never, waiting] = [0, 0, 0];
  for (let draw = 0; draw < 200; draw++) {
    const input = randomInput(random);
    const others = Array.from({ length: 9 }, (_, i) => randomPeer(random, `P${i}`));
    const hasScores = draw % 2 === 1;
    const peers = peersOf(others, { hasTargets: draw % 4 >= 2, hasScores });
    const slow = slowlyJoined(input, peers, hasScores ? others : []);
    const panel = joined(input, SHORT_BLOCKS, peers);
    assert.equal(panel?.joins, slow.joins, `draw ${draw}`);
    if (panel === undefined) {
      never++;
      continue;
    }
    joining++;
    // Thirty labels are known at an earlier block, but a feature, a gap or the other tickers remove some of their rows.
    const prices = [...input.prices.prices.keys()].filter((day) => input.prices.prices[day]! > 0);
    if (SHORT_BLOCKS.some(({ known }) => prices[MIN_FIT_ROWS]! <= known! && known! < panel.joins!)) waiting++;
    const at = (rows: Int32Array) => [...rows].map((row) => panel.days[row]!);
    const columns = panel.columns.slice(0, panel.columns.length - (panel.zScores ?? 0));
    assert.deepEqual(
      { columns, fit: at(panel.fit), score: at(panel.score) },
      { columns: slow.columns, fit: slow.fit, score: slow.score },
    );
    const [first, { blocks }] = [firstBlock(panel, SHORT_BLOCKS), tickerBlocks(panel, SHORT_BLOCKS)];
    assert.ok(blocks.slice(0, first).every(({ learnEnd, scoreEnd }) => learnEnd === 0 && scoreEnd === 0));
    assert.equal(blocks[first]!.learnEnd, panel.fit.length);
    assert.equal(blocks.at(-1)!.scoreEnd, panel.score.length);
    const places = columns.map((name) => input.features.columns.indexOf(name) * LENGTH);
    const x = [...panel.days].flatMap((day) => places.map((place) => input.features.values[place + day]!));
    assert.deepEqual([...panel.x], x);
  }
  const told = `${joining} join, ${waiting} of them later than their prices allow, ${never} never`;
  assert.ok(joining > 50 && never > 50 && waiting > 20, told);
});
