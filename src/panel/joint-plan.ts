import { MucastError } from "../contract/errors/errors.ts";
import { counted } from "../contract/errors/wording.ts";
import type { Day } from "../contract/market/dates.ts";
import { compareCodePoints } from "../contract/market/ticker-series.ts";
import { NO_LABEL_DAY } from "./labels.ts";
import { type TickerPanel, targetsOf } from "./ticker-panel.ts";
import {
  constantTarget,
  isConstantTarget,
  MIN_TRAINING_SAMPLES,
  splitSizes,
  type WindowOptions,
} from "./window-plan.ts";

/** The members of a panel that decide how it takes part in a joint network. */
type JointRows = Pick<TickerPanel, "ticker" | "days" | "y" | "relative" | "labelDays" | "fit" | "score">;

/** The dates of a joint network's samples; each list ascends. */
interface JointDates {
  /** Without the last `delay` dates of the part, whose labels are known after the first validation date. */
  readonly train: Int32Array;
  /** The same, if there is a calibration part. */
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
 * Timing: a training label is realised by the first validation date, and a validation label by the first calibration date. So with a delay
 * these parts lose their last `delay` dates. With missing prices, a ticker's label may be published later than those of the others.
 *
 * A ticker with too few labels to learn, or with constant ones, is excluded. Its dates then no longer count, so the dates
 * are split again without it, until every remaining ticker takes part.
 *
 * @param panels in any order; the plan is the same.
 */
export function planJoint<P extends JointRows>(panels: readonly P[], options: JointOptions): JointPlan<P> {
  let present = panels.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
  const excluded: MucastError[] = [];
  for (;;) {
    const { dates, starts } = jointDates(present, options);
    const members: JointMember<P>[] = [];
    const remaining: P[] = [];
    for (const panel of present) {
      const member = memberOf(panel, dates, starts, options.lookback);
      members.push(member);
      const reason = reasonToExclude(member, options.lookback);
      if (reason === undefined) remaining.push(member.panel);
      else excluded.push(reason);
    }
    if (remaining.length === present.length) return { dates, members, excluded };
    present = remaining;
  }
}

interface JointOptions extends WindowOptions {
  readonly delay: number;
}

/** The first dates of two parts; NEVER for an empty one. */
type PartStarts = Readonly<Record<"validate" | "calibrate", Day>>;

function jointDates(
  panels: readonly JointRows[],
  { lookback, calibrates, delay }: JointOptions,
): { readonly dates: JointDates; readonly starts: PartStarts } {
  const fit = datesOfRows(panels, (panel) => fullWindows(panel.fit, lookback));
  const { train, validate } = splitSizes(fit.length, calibrates);
  const calibrateFrom = train + validate;
  const knownUntil = (from: number, end: number) => fit.subarray(from, Math.max(from, end - delay));
  const dates = {
    train: knownUntil(0, train),
    validate: calibrates ? knownUntil(train, calibrateFrom) : fit.subarray(train),
    calibrate: fit.subarray(calibrateFrom),
    score: datesOfRows(panels, (panel) => fullWindows(panel.score, lookback)),
  };
  return { dates, starts: { validate: fit[train] ?? NEVER, calibrate: fit[calibrateFrom] ?? NEVER } };
}

function datesOfRows<P extends JointRows>(panels: readonly P[], rows: (panel: P) => Int32Array): Int32Array {
  const dates = new Set<Day>();
  for (const panel of panels) {
    for (const row of rows(panel)) dates.add(panel.days[row]!);
  }
  return Int32Array.from(dates).sort();
}

function fullWindows(rows: Int32Array, lookback: number): Int32Array {
  return rows.filter((row) => row >= lookback - 1);
}

const NEVER = 2_147_483_647;

function memberOf<P extends JointRows>(
  panel: P,
  dates: JointDates,
  starts: PartStarts,
  lookback: number,
): JointMember<P> {
  const fit = fullWindows(panel.fit, lookback);
  const dated = (from: Day, last: Day) =>
    fit.filter((row) => panel.days[row]! >= from && panel.days[row]! <= last);
  const knownBy = (day: Day) => (row: number) => panel.labelDays[row]! <= day;
  const lastOf = (part: Int32Array) => part.at(-1) ?? NO_LABEL_DAY;
  return {
    panel,
    train: dated(NO_LABEL_DAY, lastOf(dates.train)).filter(knownBy(starts.validate)),
    validate: dated(starts.validate, lastOf(dates.validate)).filter(knownBy(starts.calibrate)),
    calibrate: dated(starts.calibrate, NEVER),
    score: fullWindows(panel.score, lookback),
  };
}

function reasonToExclude({ panel, train }: JointMember, lookback: number): MucastError | undefined {
  const { ticker, fit } = panel;
  const targets = targetsOf(panel);
  if (train.length < MIN_TRAINING_SAMPLES) {
    return new MucastError(
      "insufficient_history",
      `${ticker} has ${counted(train.length, "training label")}, at least ${MIN_TRAINING_SAMPLES} are needed: ` +
        `${fullWindows(fit, lookback).length} of ${counted(fit.length, "fit row")} end a window of ${counted(lookback, "row")}, and ` +
        "not all of those are dated and realised before the validation part begins",
      { ticker, fit_rows: fit.length, training_labels: train.length, lookback },
    );
  }
  const learned = Float64Array.from(train, (row) => targets[row]!);
  return isConstantTarget(learned) ? constantTarget(ticker, train.length) : undefined;
}

/** The samples of a joint network as matrices; row-major, tickers in the plan's order. */
interface JointSamples {
  /**
   * Shape (samples, tickers): the row on which the ticker's window ends on the sample's date, -1 for none. Samples are the dates of
   * training, validation and calibration, then those with a score window.
   */
  readonly ends: Float64Array;
  /** Shape (train + validate, tickers): the target to learn or to monitor, NaN if there is none. */
  readonly labels: Float64Array;
  readonly parts: { readonly train: number; readonly validate: number; readonly predict: number };
}

/**
 * Arranges the samples. On every date, each ticker with a full window takes part, whether its label counts or not: the network may use it
 * for the forecasts of the others. No row is carried over to a date without a window.
 */
export function jointSamples({ dates, members }: JointPlan, lookback: number): JointSamples {
  const { train, validate, calibrate, score } = dates;
  const predict = calibrate.length + score.length;
  const samples = train.length + validate.length + predict;
  const width = members.length;
  const ends = new Float64Array(samples * width).fill(-1);
  const labels = new Float64Array((train.length + validate.length) * width).fill(Number.NaN);
  for (const [j, member] of members.entries()) {
    const { days } = member.panel;
    const targets = targetsOf(member.panel);
    let sample = 0;
    // The dates of one part ascend; those of the score rows may begin before the calibration ends.
    for (const part of [train, validate, calibrate, score]) {
      for (const row of rowsOn(days, part)) {
        if (row >= lookback - 1) ends[sample * width + j] = row;
        sample++;
      }
    }
    const learned = positions(member.train, days, train);
    for (const [i, row] of member.train.entries()) labels[learned[i]! * width + j] = targets[row]!;
    const watched = positions(member.validate, days, validate);
    for (const [i, row] of member.validate.entries()) {
      labels[(train.length + watched[i]!) * width + j] = targets[row]!;
    }
  }
  return { ends, labels, parts: { train: train.length, validate: validate.length, predict } };
}

/**
 * The row of a ticker on each date.
 * @param days ascending; `dates` likewise.
 * @returns shape (dates): -1 if the ticker has no row on that date.
 */
function rowsOn(days: Int32Array, dates: Int32Array): Int32Array {
  const rows = new Int32Array(dates.length).fill(-1);
  for (let i = 0, row = 0; i < dates.length && row < days.length; ) {
    const difference = days[row]! - dates[i]!;
    if (difference === 0) rows[i++] = row++;
    else if (difference < 0) row++;
    else i++;
  }
  return rows;
}

/** The index of each row's date in `dates`, which contains it. */
function positions(rows: Int32Array, days: Int32Array, dates: Int32Array): Int32Array {
  return rowsOn(
    dates,
    rows.map((row) => days[row]!),
  );
}

/** The indices of a ticker's own forecasts in the predicted dates of a joint network. */
interface OwnSamples {
  /** Shape (validate rows of the ticker). */
  readonly validate: Int32Array;
  /** Shape (calibrate rows of the ticker). */
  readonly calibrate: Int32Array;
  /** Shape (score rows of the ticker). */
  readonly score: Int32Array;
}

/** A ticker is predicted on every date on which it has a window; its own forecasts are those in its parts. */
export function ownSamples({ dates }: JointPlan, member: JointMember): OwnSamples {
  const { days } = member.panel;
  const calibrate = positions(member.calibrate, days, dates.calibrate);
  const score = positions(member.score, days, dates.score);
  const calibrateFrom = dates.validate.length;
  const scoreFrom = calibrateFrom + dates.calibrate.length;
  return {
    validate: positions(member.validate, days, dates.validate),
    calibrate: calibrate.map((at) => calibrateFrom + at),
    score: score.map((at) => scoreFrom + at),
  };
}
