import assert from "node:assert/strict";
import { test } from "node:test";
import { findEnvironment } from "../../../src/engine/environment/environment.ts";
import {
  adaptiveIntervals,
  prequentialIntervals,
} from "../../../src/evaluate/intervals/adaptive-intervals.ts";
import type { Bound } from "../../../src/evaluate/intervals/conformal.ts";
import { seededRandom } from "../../twins/random.ts";
import { askTwin } from "./plain-twin.ts";

interface TwinAnswer {
  readonly intervals: {
    readonly lower: readonly (number | null)[];
    readonly upper: readonly (number | null)[];
    readonly learned: number;
    readonly misses: number;
    readonly theta: number;
    readonly clipped: number;
  };
  readonly prequential: { readonly n: number; readonly inside: number } | null;
}

interface Case {
  readonly cal: readonly (readonly [realised: number, predicted: number, day: number, labelDay: number])[];
  readonly score: readonly {
    readonly day: number;
    readonly label_day: number | null;
    readonly realised: number | null;
    readonly predicted: number;
  }[];
  readonly alpha: number;
  readonly bound: Bound;
}

const ALPHAS = [0.01, 0.05, 0.1, 0.2, 0.5, 0.99];
const BOUNDS: readonly Bound[] = ["both", "lower", "upper"];

/** Volatility clusters, labels that are missing or late, and occasionally a jump, a constant price or an overflow. */
function randomCase(seed: number): Case {
  const random = seededRandom(seed);
  const kind = random.below(10);
  const scale = kind === 0 ? 0 : kind === 1 ? 1e306 : 10 ** -random.below(6);
  let volatility = 1;
  const draw = () => {
    volatility = Math.min(50, Math.max(0.05, volatility * (1 + 0.3 * random.normal())));
    const drawn = scale * volatility * random.normal() * (random.below(90) === 0 ? 30 : 1);
    return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, drawn));
  };
  const m = [0, 1, 18, 19, 20, 39, 40, 41, 120][random.below(9)]!;
  const times = seededRandom(seed + 10_000);
  const delay = times.below(2) * times.below(6);
  let labelDay = -m;
  const labelDayOf = (day: number) => {
    labelDay = Math.max(labelDay, day + 1 + delay + (times.below(8) === 0 ? times.below(6) : 0));
    return labelDay;
  };
  return {
    cal: Array.from({ length: m }, (_, i) => [draw(), draw() / 4, i - m, labelDayOf(i - m)] as const),
    score: Array.from({ length: random.below(160) }, (_, i) => {
      const known = labelDayOf(i);
      const isOpen = random.below(15) === 0;
      const y = kind === 2 && i < 40 ? 0 : draw();
      return {
        day: i,
        label_day: isOpen ? null : known,
        realised: isOpen ? null : y,
        predicted: kind === 2 ? 0 : draw() / 4,
      };
    }),
    alpha: ALPHAS[random.below(ALPHAS.length)]!,
    bound: BOUNDS[random.below(BOUNDS.length)]!,
  };
}

const orNull = (values: Float64Array) =>
  Array.from(values, (value) => (Number.isNaN(value) ? null : value + 0));

test("the recursion equals that of a twin written only from its description, to the bit", async () => {
  const cases = Array.from({ length: 600 }, (_, seed) => randomCase(seed));
  const answers = await askTwin<TwinAnswer[]>("adaptive_intervals.py", findEnvironment().python, cases);
  assert.equal(answers.length, cases.length);
  for (const [seed, { cal, score, alpha, bound }] of cases.entries()) {
    const twin = answers[seed]!;
    const residuals = {
      days: Int32Array.from(cal, ([, , day]) => day),
      labelDays: Int32Array.from(cal, ([, , , known]) => known),
      realised: Float64Array.from(cal, ([y]) => y),
      predicted: Float64Array.from(cal, ([, p]) => p),
    };
    const rows = {
      days: Int32Array.from(score, ({ day }) => day),
      labelDays: Int32Array.from(score, ({ label_day }) => label_day ?? 0),
      realised: Float64Array.from(score, ({ realised }) => realised ?? Number.NaN),
      predicted: Float64Array.from(score, ({ predicted }) => predicted),
      volatility: new Float64Array(score.length),
    };
    const ours = adaptiveIntervals(residuals, rows, alpha, bound);
    assert.deepEqual(orNull(ours.lower), twin.intervals.lower.map(positiveZero), `lower of case ${seed}`);
    assert.deepEqual(orNull(ours.upper), twin.intervals.upper.map(positiveZero), `upper of case ${seed}`);
    assert.deepEqual(
      [ours.learned, ours.misses, ours.feedback + 0, ours.clipped],
      [twin.intervals.learned, twin.intervals.misses, twin.intervals.theta + 0, twin.intervals.clipped],
      `identity of case ${seed}`,
    );
    const tested = prequentialIntervals(residuals, alpha, bound);
    assert.deepEqual(coverageOf(tested, residuals.realised), twin.prequential, `prequential of case ${seed}`);
  }
});

/** JSON has no negative zero. */
function positiveZero(value: number | null): number | null {
  return value === null ? null : value + 0;
}

function coverageOf(
  bounds: { readonly lower: Float64Array; readonly upper: Float64Array } | undefined,
  realised: Float64Array,
): TwinAnswer["prequential"] {
  if (bounds === undefined) return null;
  const rows = Array.from(realised.keys()).filter(
    (i) => !Number.isNaN(bounds.lower[i]!) || !Number.isNaN(bounds.upper[i]!),
  );
  if (rows.length === 0) return null;
  const inside = rows.filter((i) => !(realised[i]! < bounds.lower[i]!) && !(realised[i]! > bounds.upper[i]!));
  return { n: rows.length, inside: inside.length };
}
