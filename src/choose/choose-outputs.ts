import type { ChoiceMeasure, ChoiceRule } from "../contract/config/choice-config.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { type Day, formatDay, parseDay } from "../contract/market/dates.ts";
import { compareCodePoints } from "../contract/market/ticker-series.ts";
import { CHOICE_METHOD, type ChosenOutputs, type ChosenRows } from "../contract/output/choice.ts";
import { laterFigures } from "../contract/output/later-close.ts";
import { MIN_DATES } from "../contract/output/test-quantile.ts";
import { countKnown, type TestedFold, type TestedTicker } from "../evaluate/choice/candidate-losses.ts";
import { choiceGains, type Gain, optimismOf } from "../evaluate/choice/choice-gains.ts";
import { choosePrequentially } from "../evaluate/choice/prequential.ts";
import { asRanked } from "../evaluate/forecast-rows.ts";
import { finiteOrNull, rootMeanSquare } from "../evaluate/statistics.ts";
import type { OutputDocument } from "../outputs/open-document.ts";
import { modelNameOf, requireOneDelay } from "../outputs/output-summary.ts";

interface ChoosingOptions {
  readonly rule: ChoiceRule;
  readonly measure: ChoiceMeasure;
  readonly rows: ChosenRows;
}

/** The forecasts of one ticker in an output, whose realised returns are known. */
interface OutputRows extends Omit<TestedTicker, "predicted" | "unit"> {
  readonly predicted: Float64Array;
}

/** What a choice needs of an output, which takes more memory. */
export type CandidateOutput = ReturnType<typeof candidateOf>;

/** @throws MucastError invalid_request if the output has no such rows. */
export function candidateOf(output: OutputDocument, { rows, measure }: Omit<ChoosingOptions, "rule">) {
  const { name, sha256, document } = output;
  return {
    ...{ name, sha256 },
    model: modelNameOf(document),
    delay: document.window.delay ?? 0,
    rows: outputRows(output, rows, measure),
    /** Absent in outputs of 0.2.0, and with too few dates. */
    later: laterFigures(document.metrics[rows]?.by_delay),
  };
}

/**
 * Chooses among the forecasts of finished outputs as a job with `choice` chooses among candidates: the first output is candidate 0, and
 * folds that begin before 30 label dates are known only serve the choice. A ticker has the rows of the first output that has it. Its unit
 * is the mean squared label of these rows, because outputs do not record those that a fold learned from.
 * @throws MucastError invalid_data if outputs come from different prices or have different delays.
 */
export function chooseOutputs(
  outputs: readonly CandidateOutput[],
  { rows, rule, measure }: ChoosingOptions,
): ChosenOutputs {
  requireOneDelay(outputs);
  const tickers = testedTickers(outputs);
  const chosen = choosePrequentially(tickers, outputs.length, { rule, measure });
  const { best, members, changes, series } = chosen;
  const isWarmUp = ({ first }: TestedFold) => countKnown(series.days, first) < MIN_DATES;
  const from = tickers.map(({ folds }) => folds.findLast(isWarmUp)?.to ?? 0);
  const gains = choiceGains(tickers, chosen.predicted, from, outputs.length, measure);
  const recorded = ({ r2, ic, gain, t }: Gain) => ({ r2, ic, gain, gain_t: t });
  const models = outputs.map(({ model }) => model);
  return {
    ...{ rows, rule, measure, method: CHOICE_METHOD },
    candidates: outputs.map(({ name, sha256, model, rows: own, later }, c) => ({
      // Outputs with the same model get their place, as in a report.
      label: models.indexOf(model) === models.lastIndexOf(model) ? model : `${model} (${c + 1})`,
      ...recorded(gains.gains[c]!),
      tickers: own.length,
      member: members.includes(c),
      output: name,
      ...(later && { later }),
      sha256,
    })),
    members: [...members],
    changes: changes.map(({ day, members }) => ({ date: formatDay(day), members: [...members] })),
    honest: recorded(gains.honest),
    best,
    optimism: optimismOf(gains.gains[best]!, gains.honest, measure),
    losses: {
      reference: series.reference,
      dates: Array.from(series.days, formatDay),
      excess: series.excess.map((own) => Array.from(own, finiteOrNull)),
      gains: Array.from(series.days, (day) => finiteOrNull(gains.gainByDay.get(day) ?? Number.NaN)),
    },
  };
}

function testedTickers(outputs: readonly CandidateOutput[]): TestedTicker[] {
  const byTicker = outputs.map(({ rows }) => new Map(rows.map((row) => [row.ticker, row])));
  const names = [...new Set(byTicker.flatMap((rows) => [...rows.keys()]))].sort(compareCodePoints);
  return names.map((ticker) => {
    const all = byTicker.map((rows) => rows.get(ticker));
    const base = all.findIndex((rows) => rows !== undefined);
    const predicted = all.map((rows, c) =>
      alignedTo(all[base]!, rows, [outputs[base]!.name, outputs[c]!.name]),
    );
    return { ...all[base]!, predicted, unit: rootMeanSquare(all[base]!.realised) ** 2 };
  });
}

/** Labels that differ by less come from the same prices. */
const SAME_LABEL = 1e-9;

/** Forecasts on the rows of the base; NaN where there is none. */
function alignedTo(
  base: OutputRows,
  own: OutputRows | undefined,
  [baseName, name]: readonly [string, string],
): Float64Array {
  const positions = new Map(Array.from(own?.days ?? [], (day, i) => [day, i]));
  return Float64Array.from(base.days, (day, row) => {
    const at = positions.get(day);
    if (own === undefined || at === undefined) return Number.NaN;
    const [label, other] = [own.realised[at]!, base.realised[row]!];
    if (Math.abs(label - other) <= SAME_LABEL) return own.predicted[at]!;
    const place = `${base.ticker} on ${formatDay(day)}`;
    const message = `${baseName} and ${name} cannot be compared: the return of ${place} is ${other} in ${baseName} and ${label} in ${name}, so the outputs were made from different prices`;
    throw new MucastError("invalid_data", message, { source: name, ticker: base.ticker, value: label });
  });
}

/**
 * The rows of an output that a choice reads, tickers ascending by code point. With measure `ic`, the score rows have the forecasts whose
 * order is judged.
 */
export function outputRows(output: OutputDocument, rows: ChosenRows, measure: ChoiceMeasure): OutputRows[] {
  const found = rows === "score" ? scoreRows(output, measure) : outOfFoldRows(output);
  const kept = found.filter(({ days }) => days.length > 0);
  if (kept.length > 0) return kept;
  const reason =
    rows === "score"
      ? "its score rows have no realised returns"
      : "it has no out-of-fold rows; networks never have any, so compare score rows with --rows score";
  const { name } = output;
  throw new MucastError("invalid_request", `${name} cannot be chosen: ${reason}`, {
    source: name,
    path: "--output",
  });
}

function outOfFoldRows(output: OutputDocument): OutputRows[] {
  const { outOfFold = [], rows, document } = output;
  const { as_of, delay } = document.window;
  const scored = new Map(rows.map((row) => [row.ticker, row.days[0]]));
  return outOfFold.map(({ ticker, days, predicted, realised, folds }) => ({
    ...{ ticker, days, predicted, realised },
    labelDays: laterDays(days, delay, scored.get(ticker) ?? parseDay(as_of)),
    folds: folds
      .filter(({ from, to }) => from < to)
      .map(({ from, to }) => ({
        ...{ from, to },
        first: days[from]!,
      })),
  }));
}

/**
 * The date 1 + `delay` dates after each, when its label is known at the latest: outputs do not record when.
 * @param after that of the last ones.
 */
function laterDays(days: Int32Array, delay = 0, after?: Day): Int32Array {
  return days.map((day, i) => days[i + 1 + delay] ?? after ?? day);
}

/** The number of dates that one choice among score rows serves: about a month. */
export const DATES_PER_CHOICE = 21;

/** Score rows with a realised return; every ticker's folds begin on the same dates. */
function scoreRows({ rows, document }: OutputDocument, measure: ChoiceMeasure): OutputRows[] {
  const { as_of, delay } = document.window;
  const known = rows.map((row) => {
    // The verdict judges the order of the model's own forecasts, too.
    const { ticker, days, predicted, realised } = measure === "ic" ? asRanked(row) : row;
    const labelDays = laterDays(days, delay, parseDay(as_of));
    const isKnown = (_: unknown, i: number) => !Number.isNaN(realised[i]!);
    return {
      ticker,
      days: days.filter(isKnown),
      labelDays: labelDays.filter(isKnown),
      predicted: predicted.filter(isKnown),
      realised: realised.filter(isKnown),
    };
  });
  const dates = [...new Set(known.flatMap(({ days }) => [...days]))].sort((a, b) => a - b);
  const starts = dates.filter((_, i) => i % DATES_PER_CHOICE === 0);
  return known.map((row) => {
    const positions = [...starts.map((first) => row.days.findIndex((day) => day >= first)), row.days.length];
    const folds = starts.flatMap((first, k) => {
      const [from, end] = [positions[k]!, positions[k + 1]!];
      const to = end < 0 ? row.days.length : end;
      return from < 0 || from === to ? [] : [{ from, to, first }];
    });
    return { ...row, folds };
  });
}
