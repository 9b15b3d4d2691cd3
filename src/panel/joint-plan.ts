import { MucastError } from "../contract/errors/errors.ts";
import { counted } from "../contract/errors/wording.ts";
import type { Pausable } from "../contract/machine/pausable.ts";
import type { Day } from "../contract/market/dates.ts";
import { compareCodePoints } from "../contract/market/ticker-series.ts";
import { NO_LABEL_DAY } from "./labels.ts";
import { isConstantTarget, MIN_TRAINING_SAMPLES, splitSizes } from "./sample-split.ts";
import { type TickerPanel, targetsOf } from "./ticker-panel.ts";
import { constantTarget, type WindowOptions } from "./window-plan.ts";

/** The members of a panel that decide how it takes part in a joint network. */
type JointRows = Pick<TickerPanel, "ticker" | "days" | "y" | "relative" | "labelDays" | "fit" | "score">;

/** The dates of a joint network's samples; each list ascends. */
interface JointDates {
  readonly train: Int32Array;
  readonly validate: Int32Array;
  readonly calibrate: Int32Array;
  /** Dates on which some ticker has a score window. */
  readonly score: Int32Array;
}

/** A ticker that takes part, and the parts of its rows. All row lists ascend and contain only full windows. */
export interface JointMember<P extends JointRows = JointRows> {
  readonly panel: P;
  /** Rows whose labels are used for training. */
  readonly train: Int32Array;
  /** Rows whose labels early stopping monitors. */
  readonly validate: Int32Array;
  readonly calibrate: Int32Array;
  readonly score: Int32Array;
}

/** A network for all tickers at once: a sample is a date with every ticker that has a window on it. */
export interface JointPlan<P extends JointRows = JointRows> {
  readonly dates: JointDates;
  /** Ascending by code point. */
  readonly members: readonly JointMember<P>[];
  /** Why the other tickers do not take part. */
  readonly excluded: readonly MucastError[];
}

/**
 * Splits the dates of all fit windows by time and decides which tickers take part, before anything is trained.
 *
 * Timing: a training label is realised by the first validation date, and a validation label by the first calibration date: with missing
 * prices, a ticker's label may be published later than the next date of the others.
 *
 * A ticker with too few labels to learn, or with constant ones, is excluded. Its dates then no longer count, so the dates
 * are split again without it, until every remaining ticker takes part.
 *
 * @param panels in any order; the plan is the same.
 */
export function* planJoint<P extends JointRows>(
  panels: readonly P[],
  options: WindowOptions,
): Pausable<JointPlan<P>> {
  let present = panels.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
  const excluded: MucastError[] = [];
  for (;;) {
    const dates = yield* jointDates(present, options);
    const members: JointMember<P>[] = [];
    const remaining: P[] = [];
    for (const panel of present) {
      yield 0;
      const member = memberOf(panel, dates, options.lookback);
      members.push(member);
      const reason = reasonToExclude(member, options.lookback);
      if (reason === undefined) remaining.push(member.panel);
      else excluded.push(reason);
    }
    if (remaining.length === present.length) return { dates, members, excluded };
    present = remaining;
  }
}

function* jointDates(
  panels: readonly JointRows[],
  { lookback, calibrates }: WindowOptions,
): Pausable<JointDates> {
  const fit = yield* datesOfRows(panels, (panel) => fullWindows(panel.fit, lookback));
  const { train, validate } = splitSizes(fit.length, calibrates);
  return {
    train: fit.subarray(0, train),
    validate: fit.subarray(train, train + validate),
    calibrate: fit.subarray(train + validate),
    score: yield* datesOfRows(panels, (panel) => fullWindows(panel.score, lookback)),
  };
}

function* datesOfRows<P extends JointRows>(
  panels: readonly P[],
  rows: (panel: P) => Int32Array,
): Pausable<Int32Array> {
  const dates = new Set<Day>();
  for (const panel of panels) {
    yield 0;
    for (const row of rows(panel)) dates.add(panel.days[row]!);
  }
  return Int32Array.from(dates).sort();
}

function fullWindows(rows: Int32Array, lookback: number): Int32Array {
  return rows.filter((row) => row >= lookback - 1);
}

/** Later than any date. */
const NEVER = 2_147_483_647;

function memberOf<P extends JointRows>(panel: P, dates: JointDates, lookback: number): JointMember<P> {
  const fit = fullWindows(panel.fit, lookback);
  // Dates before the first of a part belong to the parts before it.
  const validateFrom = dates.validate[0] ?? NEVER;
  const calibrateFrom = dates.calibrate[0] ?? NEVER;
  const dated = (from: Day, before: Day) =>
    fit.filter((row) => panel.days[row]! >= from && panel.days[row]! < before);
  const knownBy = (day: Day) => (row: number) => panel.labelDays[row]! <= day;
  return {
    panel,
    train: dated(NO_LABEL_DAY, validateFrom).filter(knownBy(validateFrom)),
    validate: dated(validateFrom, calibrateFrom).filter(knownBy(calibrateFrom)),
    calibrate: dated(calibrateFrom, NEVER),
    score: fullWindows(panel.score, lookback),
  };
}

function reasonToExclude({ panel, train }: JointMember, lookback: number): MucastError | undefined {
  const { ticker, fit } = panel;
  const targets = targetsOf(panel);
  if (train.length < MIN_TRAINING_SAMPLES) {
    return new MucastError(
      "insufficient_history",
      `${ticker} has ${counted(train.length, "label")} to learn, at least ${MIN_TRAINING_SAMPLES} are needed: of ` +
        `${counted(fit.length, "fit row")} ${fullWindows(fit, lookback).length} end a window of ${counted(lookback, "row")}, and ` +
        "not all of those are dated and realised before the validation begins",
      { ticker, fit_rows: fit.length, training_labels: train.length, lookback },
    );
  }
  const learned = Float64Array.from(train, (row) => targets[row]!);
  return isConstantTarget(learned) ? constantTarget(ticker, train.length) : undefined;
}
