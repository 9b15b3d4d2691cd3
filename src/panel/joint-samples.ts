import type { Pausable } from "../contract/machine/pausable.ts";
import type { JointMember, JointPlan } from "./joint-plan.ts";
import { targetsOf } from "./ticker-panel.ts";

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
export function* jointSamples({ dates, members }: JointPlan, lookback: number): Pausable<JointSamples> {
  const { train, validate, calibrate, score } = dates;
  const predict = calibrate.length + score.length;
  const samples = train.length + validate.length + predict;
  const width = members.length;
  const ends = new Float64Array(samples * width).fill(-1);
  const labels = new Float64Array((train.length + validate.length) * width).fill(Number.NaN);
  for (const [j, member] of members.entries()) {
    yield 0;
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

/** A ticker is predicted on every date on which it has a window; its own are those of its parts. */
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
