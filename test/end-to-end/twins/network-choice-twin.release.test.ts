/** A choice among networks matches a plain script written from docs/semantics.md, for networks with given forecasts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Choice } from "../../../src/contract/config/candidates.ts";
import { CHOICE_MEASURES, CHOICE_RULES } from "../../../src/contract/config/choice-config.ts";
import { type DlSettings, parseDlSettings } from "../../../src/contract/config/dl-settings.ts";
import { formatDay } from "../../../src/contract/market/dates.ts";
import type { OutputChoice } from "../../../src/contract/output/choice.ts";
import { findEnvironment } from "../../../src/engine/environment/environment.ts";
import { noise } from "../../../src/evaluate/choice/choice.testing.ts";
import { choiceOf } from "../../../src/jobs/shared/choice-result.ts";
import { CandidateFits, combineNetworks } from "../../../src/jobs/shared/combine-candidates.ts";
import { type HeldOutPart, judgedBy, type ModelledTicker } from "../../../src/jobs/shared/modelled-ticker.ts";
import { removeFolders } from "../jobs/job-runs.ts";
import { askTwin, assertClose } from "./plain-twin.ts";

const { settings } = parseDlSettings(
  JSON.stringify({ "NN params": { "Dot prediction": { "current option": "mlp" } } }),
);

interface Case {
  readonly choice: Choice<DlSettings>;
  /** One per candidate: the tickers that it trained. */
  readonly trained: readonly (readonly ModelledTicker[])[];
}

interface TwinAnswer extends Pick<OutputChoice, "members" | "honest" | "best" | "optimism"> {
  readonly candidates: readonly object[];
  readonly losses: Omit<OutputChoice["losses"], "dates"> & { readonly dates: readonly number[] };
  readonly starts: readonly (readonly [day: number, members: readonly number[]])[];
  readonly warnings: readonly { readonly code: string; readonly count: number | null }[];
  readonly tickers: Readonly<
    Record<
      string,
      { readonly calibration: number[]; readonly score: number[]; readonly spread: number | null }
    >
  >;
}

/** The rows of a ticker: 70 that validate, 45 that calibrate, 6 to forecast; some dates are missing. */
function rowsOf(i: number): { readonly days: Int32Array; readonly labels: Float64Array } {
  const next = noise(100 + i);
  const days = Int32Array.from({ length: 140 }, (_, row) => 1_000 + 2 * i + row).filter(() => next() < 0.75);
  return { days, labels: Float64Array.from(days, () => 0.02 * next()) };
}

/** @param shift rows that the candidate's windows lack at the start of its validation part. */
function trainedTicker(i: number, skill: number, seed: number, shift: number): ModelledTicker {
  const { days, labels } = rowsOf(i);
  const next = noise(seed);
  const predicted = labels.map((y) => skill * y + 0.01 * next());
  const part = (from: number, to: number): HeldOutPart => ({
    ticker: `T${i}`,
    days: days.subarray(from, to),
    labelDays: days.subarray(from + 1, to + 1),
    realised: labels.subarray(from, to),
    predicted: predicted.subarray(from, to),
    trainingMean: new Float64Array(to - from),
    spans: [],
  });
  const [validated, calibrated] = [60, 105];
  const score = part(calibrated, calibrated + 6);
  return {
    ticker: `T${i}`,
    dates: { ticker: `T${i}`, lastRowDay: 0, lastPriceDay: 0 } as unknown as ModelledTicker["dates"],
    fitLabels: new Float64Array(0),
    ...judgedBy(part(shift, validated), part(validated, calibrated)),
    unit: (1 + i) * 1e-4,
    score: { ...score, labels: score.realised, volatility: score.realised },
    models: [],
    rows: {} as ModelledTicker["rows"],
    warnings: [],
    listed: [],
    ...(seed % 2 === 0 ? { spread: seed / 1_000 } : {}),
  };
}

const SKILLS = [0, 0.3, 0.28, 0.26];
const TICKERS = 7;

/** Candidate 1 fails on the first ticker, and candidate 0 on the second. */
function caseOf(choice: Pick<Choice<DlSettings>, "rule" | "measure">, seed: number): Case {
  return {
    choice: {
      ...choice,
      seed: 42,
      candidates: SKILLS.map((_, c) => ({ label: `candidate ${c}`, settings })),
    },
    trained: SKILLS.map((skill, c) =>
      Array.from({ length: TICKERS }, (_, i) =>
        trainedTicker(i, skill, 17 * seed + 10 * c + i, 3 * c),
      ).filter((_, i) => !(c === 1 && i === 0) && !(c === 0 && i === 1)),
    ),
  };
}

const CASES = CHOICE_RULES.flatMap((rule) =>
  CHOICE_MEASURES.flatMap((measure) => [1, 2, 3].map((seed) => caseOf({ rule, measure }, seed))),
);

function combined({ choice, trained }: Case) {
  const fits = new CandidateFits<DlSettings>();
  for (const [c, own] of trained.entries()) {
    const failures = Array.from({ length: TICKERS }, (_, i) => `T${i}`)
      .filter((ticker) => !own.some((one) => one.ticker === ticker))
      .map((ticker) => ({ ticker, code: "fit_failed" as const, message: "no fit" }));
    fits.add(choice.candidates[c]!, own, { failures, warnings: [] });
  }
  const first = {
    training: new Map(),
    blockTraining: new Map(),
    failures: [],
    warnings: [],
    blockRows: [],
    listed: [],
  };
  return combineNetworks(fits, first, choice);
}

function requestOf({ choice: { rule, measure }, trained }: Case) {
  const rows = ({ days, labelDays, realised, predicted }: HeldOutPart) =>
    Array.from(days, (day, row) => [day, labelDays[row], realised[row], predicted[row]]);
  const entry = ({ ticker, unit, tested, score, spread }: ModelledTicker) => [
    ticker,
    {
      ...{ unit, spread: spread ?? null },
      validation: rows(tested[0]!),
      calibration: rows(tested[1]!),
      score: Array.from(score.days, (day, row) => [day, score.predicted[row]]),
    },
  ];
  return {
    settings: { rule, measure },
    candidates: trained.map((own) => Object.fromEntries(own.map(entry))),
  };
}

test("the numbers of a plain script", async (t) => {
  const answers = await askTwin<TwinAnswer[]>(
    "plain_network_choice.py",
    findEnvironment().python,
    CASES.map(requestOf),
  );
  await removeFolders();
  for (const [i, own] of CASES.entries()) {
    const { rule, measure } = own.choice;
    await t.test(`${rule}, ${measure}, market ${i}`, () => assertSame(combined(own), own, answers[i]!));
  }
  assert.ok(answers.some(({ members }) => members.length > 1));
  assert.ok(new Set(answers.map(({ members }) => members.join())).size > 2);
});

function assertSame(outcome: ReturnType<typeof combined>, { choice }: Case, twin: TwinAnswer): void {
  const recorded = choiceOf(
    outcome.choice,
    choice.candidates.map(() => ({})),
  );
  const { candidates, members, best, honest, optimism, losses, changes }: OutputChoice = JSON.parse(
    JSON.stringify(recorded),
  );
  const figures = candidates.map(({ label: _, settings: __, ...rest }) => rest);
  const dates = twin.losses.dates.map(formatDay);
  assertClose(
    { candidates: figures, members, best, honest, optimism, losses },
    {
      ...{ candidates: twin.candidates, members: twin.members, best: twin.best },
      ...{ honest: twin.honest, optimism: twin.optimism },
      losses: { ...twin.losses, dates },
    },
    1e-12,
    "choice",
  );
  for (const [day, expected] of twin.starts) {
    const date = formatDay(day);
    assert.deepEqual(changes.findLast((change) => change.date <= date)?.members, expected, date);
  }
  const codes = outcome.warnings.map(({ code, count }) => ({ code, count: count ?? null }));
  assert.deepEqual(codes, twin.warnings);
  for (const { ticker, residuals, score, spread = null } of outcome.tickers) {
    const expected = twin.tickers[ticker]!;
    const actual = { calibration: [...residuals.predicted], score: [...score.predicted], spread };
    assertClose(actual, expected, 1e-12, ticker);
  }
}
