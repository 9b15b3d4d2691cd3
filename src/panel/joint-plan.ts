import { MucastError } from "../contract/errors/errors.ts";
import { counted } from "../contract/errors/wording.ts";
import type { Day } from "../contract/market/dates.ts";
import { compareCodePoints } from "../contract/market/ticker-series.ts";
import { NO_LABEL_DAY } from "./labels.ts";
import { targetsOf } from "./ticker-panel.ts";
import {
  constantTarget,
  isFull,
  MIN_TRAINING_SAMPLES,
  splitSizes,
  type WindowOptions,
  type WindowPlan,
  type WindowRows,
} from "./window-plan.ts";

/** The dates of a joint network's samples; each list ascends. */
interface JointDates {
  /** Without the last `delay` dates of the part, whose labels are known after the first validation date. */
  readonly train: Int32Array;
  /** The same, if there is a calibration part. */
  readonly validate: Int32Array;
  readonly calibrate: Int32Array;
  /** Dates on which some ticker has a score window. */
  readonly score: Int32Array;
  /** The first dates of two parts; NEVER for an empty one. */
  readonly starts: Readonly<Record<"validate" | "calibrate", Day>>;
}

const NEVER = 2_147_483_647;

/** A ticker that takes part, and the parts of its rows. */
export interface JointMember<P extends WindowRows = WindowRows> extends WindowPlan {
  readonly panel: P;
}

/** A network for all tickers at once: a sample is a date with every ticker that has a window on it. */
export interface JointPlan<P extends WindowRows = WindowRows> {
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
 * A ticker with too few labels to learn, or with constant ones, is excluded, and the dates are split again without its own, until every
 * remaining ticker takes part.
 * @param panels in any order; the plan is the same.
 */
export function planJoint<P extends WindowRows>(
  panels: readonly P[],
  options: WindowOptions & { readonly delay: number },
): JointPlan<P> {
  let present = panels.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
  const excluded: MucastError[] = [];
  for (;;) {
    const dates = splitDates(present, options);
    const members = present.map((panel) => memberOf(panel, dates, options.lookback));
    const reasons = members.map((member) => reasonToExclude(member, options.lookback));
    excluded.push(...reasons.filter((reason) => reason !== undefined));
    const left = present.filter((_, i) => reasons[i] === undefined);
    if (left.length === present.length) return { dates, members, excluded };
    present = left;
  }
}

function splitDates(
  panels: readonly WindowRows[],
  { lookback, calibrates, delay }: Parameters<typeof planJoint>[1],
): JointDates {
  const datesWith = (part: "fit" | "score") => {
    const dates = new Set<Day>();
    for (const { days, [part]: rows } of panels)
      for (const row of rows) if (isFull(row, lookback)) dates.add(days[row]!);
    return Int32Array.from(dates).sort();
  };
  const fit = datesWith("fit");
  const { train, validate } = splitSizes(fit.length, calibrates);
  const end = train + validate;
  return {
    train: fit.subarray(0, Math.max(0, train - delay)),
    validate: fit.subarray(train, calibrates ? Math.max(train, end - delay) : fit.length),
    calibrate: fit.subarray(end),
    score: datesWith("score"),
    starts: { validate: fit[train] ?? NEVER, calibrate: fit[end] ?? NEVER },
  };
}

function memberOf<P extends WindowRows>(
  panel: P,
  { train, validate, starts }: JointDates,
  lookback: number,
): JointMember<P> {
  const { days, labelDays } = panel;
  const fit = panel.fit.filter((row) => isFull(row, lookback));
  /** The rows dated from `from` to the part's last date whose label is known on the date `known`. */
  const rowsOf = (from: Day, part: Int32Array, known: Day) => {
    const last = part.at(-1) ?? NO_LABEL_DAY;
    return fit.filter((row) => days[row]! >= from && days[row]! <= last && labelDays[row]! <= known);
  };
  return {
    panel,
    train: rowsOf(NO_LABEL_DAY, train, starts.validate),
    validate: rowsOf(starts.validate, validate, starts.calibrate),
    calibrate: fit.filter((row) => days[row]! >= starts.calibrate),
    score: panel.score.filter((row) => isFull(row, lookback)),
  };
}

function reasonToExclude({ panel, train }: JointMember, lookback: number): MucastError | undefined {
  if (train.length >= MIN_TRAINING_SAMPLES) return constantTarget(panel, train);
  const { ticker, fit } = panel;
  return new MucastError(
    "insufficient_history",
    `${ticker} has ${counted(train.length, "training label")}, at least ${MIN_TRAINING_SAMPLES} are needed: ` +
      `${fit.filter((row) => isFull(row, lookback)).length} of ${counted(fit.length, "fit row")} end a window of ${counted(lookback, "row")}, and ` +
      "not all of those are dated and realised before the validation part begins",
    { ticker, fit_rows: fit.length, training_labels: train.length, lookback },
  );
}

/**
 * The samples of a joint network as matrices; row-major, tickers in the plan's order. On every date, each ticker with a full window takes
 * part, whether its label counts or not: the others' forecasts may use it.
 * @returns `ends`, shape (samples, tickers): the row on which the ticker's window ends on the sample's date, -1 for none. Samples are the dates
 * of training, validation and calibration, then those with a score window. `labels`, shape (train + validate, tickers): the target to learn
 * or to monitor, NaN if there is none.
 */
export function jointSamples({ dates, members }: JointPlan, lookback: number) {
  const parts = {
    train: dates.train.length,
    validate: dates.validate.length,
    predict: dates.calibrate.length + dates.score.length,
  };
  const labelled = parts.train + parts.validate;
  const width = members.length;
  const ends = new Float64Array((labelled + parts.predict) * width).fill(-1);
  const labels = new Float64Array(labelled * width).fill(Number.NaN);
  for (const [j, { panel, train, validate }] of members.entries()) {
    const targets = targetsOf(panel);
    const counting = new Set([...train, ...validate]);
    let at = j;
    // The dates of one part ascend; those of the score rows may begin before the calibration ends.
    for (const part of [dates.train, dates.validate, dates.calibrate, dates.score]) {
      for (const row of rowsOn(panel.days, part)) {
        if (isFull(row, lookback)) ends[at] = row;
        if (at < labels.length && counting.has(row)) labels[at] = targets[row]!;
        at += width;
      }
    }
  }
  return { ends, labels, parts };
}

/** Shape (dates): the row of a ticker on each date, -1 if it has none. @param days ascending, as the dates. */
function rowsOn(days: Int32Array, dates: Int32Array): Int32Array {
  let row = 0;
  return dates.map((date) => {
    while (row < days.length && days[row]! < date) row++;
    return days[row] === date ? row : -1;
  });
}

/** The indices of a ticker's forecasts, by part, in the predicted dates of a joint network. */
export function ownSamples(
  { dates }: JointPlan,
  { panel: { days }, ...member }: JointMember,
): Readonly<Record<"validate" | "calibrate" | "score", Int32Array>> {
  let end = 0;
  const samplesOf = (part: "validate" | "calibrate" | "score") => {
    const from = end;
    end += dates[part].length;
    const own = member[part].map((row) => days[row]!);
    return rowsOn(dates[part], own).map((at) => from + at);
  };
  return { validate: samplesOf("validate"), calibrate: samplesOf("calibrate"), score: samplesOf("score") };
}
