import type { ChoiceMeasure, ChoiceRule } from "../contract/config/choice/choice-config.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { formatDay } from "../contract/market/dates.ts";
import { compareCodePoints } from "../contract/market/ticker-series.ts";
import { CHOICE_METHOD } from "../contract/output/choice.ts";
import type { ChosenOutputs, ChosenRows } from "../contract/output/chosen-outputs.ts";
import type { LaterFigures } from "../contract/output/metrics-schemas.ts";
import { MIN_DATES } from "../contract/output/test-quantile.ts";
import { countKnown, type TestedTicker } from "../evaluate/choice/candidate-losses.ts";
import { type ChoiceGains, choiceGains, type Gain, optimismOf } from "../evaluate/choice/choice-gains.ts";
import { choosePrequentially, type PrequentialChoice } from "../evaluate/choice/prequential.ts";
import { finiteOrNull, rootMeanSquare } from "../evaluate/statistics.ts";
import { requireOneDelay } from "../outputs/output-summary.ts";
import type { OutputRows } from "./output-rows.ts";

export interface CandidateOutput {
  readonly name: string;
  readonly sha256: string;
  readonly model: string;
  readonly delay: number;
  /** Tickers ascending by code point. */
  readonly rows: readonly OutputRows[];
  /** Absent in outputs of older versions, and with too few dates. */
  readonly later?: LaterFigures | undefined;
}

interface ChoosingOptions {
  readonly rule: ChoiceRule;
  readonly measure: ChoiceMeasure;
  readonly rows: ChosenRows;
}

/**
 * Chooses among the forecasts of finished outputs as a job with `choice` chooses among candidates: the first output is candidate 0, and
 * folds that begin before 30 label dates are known only serve the choice. A ticker has the rows of the first output that has it. Its unit
 * is the mean squared label of these rows, because outputs do not record those that a fold learned from.
 * @throws MucastError invalid_data if outputs come from different prices or have different delays.
 */
export function chooseOutputs(outputs: readonly CandidateOutput[], options: ChoosingOptions): ChosenOutputs {
  requireOneDelay(outputs);
  const tickers = testedTickers(outputs);
  const chosen = choosePrequentially(tickers, outputs.length, options);
  const from = tickers.map(({ folds }) => warmUpRows(folds, chosen));
  const gains = choiceGains(tickers, chosen.predicted, from, outputs.length, options.measure);
  const { best } = chosen;
  const labels = distinctLabels(outputs.map(({ model }) => model));
  const { rule, measure, rows } = options;
  return {
    ...{ rows, rule, measure, method: CHOICE_METHOD },
    candidates: outputs.map(({ name, sha256, rows: own, later }, c) => ({
      label: labels[c]!,
      ...recorded(gains.gains[c]!),
      tickers: own.length,
      member: chosen.members.includes(c),
      output: name,
      ...(later === undefined ? {} : { later }),
      sha256,
    })),
    members: [...chosen.members],
    changes: chosen.changes.map(({ day, members }) => ({ date: formatDay(day), members: [...members] })),
    honest: recorded(gains.honest),
    best,
    optimism: optimismOf(gains.gains[best]!, gains.honest, measure),
    losses: lossesOf(chosen, gains),
  };
}

function testedTickers(outputs: readonly CandidateOutput[]): TestedTicker[] {
  const byTicker = outputs.map(({ rows }) => new Map(rows.map((row) => [row.ticker, row])));
  const names = [...new Set(byTicker.flatMap((rows) => [...rows.keys()]))].sort(compareCodePoints);
  return names.map((ticker) => {
    const all = byTicker.map((rows) => rows.get(ticker));
    const base = all.findIndex((rows) => rows !== undefined);
    const { days, labelDays, realised, folds } = all[base]!;
    return {
      ...{ ticker, days, labelDays, realised, folds },
      predicted: all.map((rows, c) => alignedTo(all[base]!, rows, [outputs[base]!.name, outputs[c]!.name])),
      unit: rootMeanSquare(realised) ** 2,
    };
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
  const aligned = new Float64Array(base.days.length).fill(Number.NaN);
  const positions = new Map(own === undefined ? [] : Array.from(own.days, (day, i) => [day, i]));
  for (const [row, day] of base.days.entries()) {
    const at = positions.get(day);
    if (own === undefined || at === undefined) continue;
    const [label, other] = [own.realised[at]!, base.realised[row]!];
    if (Math.abs(label - other) > SAME_LABEL) {
      const place = `${base.ticker} on ${formatDay(day)}`;
      const message = `${baseName} and ${name} cannot be compared: the return of ${place} is ${other} in ${baseName} and ${label} in ${name}, so the outputs were made from different prices`;
      throw new MucastError("invalid_data", message, { source: name, ticker: base.ticker, value: label });
    }
    aligned[row] = own.predicted[at]!;
  }
  return aligned;
}

/** The number of rows of folds that begin before a choice is possible. */
function warmUpRows(folds: TestedTicker["folds"], { series }: PrequentialChoice): number {
  return folds.filter(({ first }) => countKnown(series.days, first) < MIN_DATES).at(-1)?.to ?? 0;
}

/** Outputs with the same model get their place, as in a report. */
function distinctLabels(models: readonly string[]): string[] {
  return models.map((model, c) =>
    models.filter((other) => other === model).length === 1 ? model : `${model} (${c + 1})`,
  );
}

function recorded({ r2, ic, gain, t }: Gain) {
  return { r2, ic, gain, gain_t: t };
}

function lossesOf({ series }: PrequentialChoice, { gainByDay }: ChoiceGains): ChosenOutputs["losses"] {
  return {
    reference: series.reference,
    dates: Array.from(series.days, formatDay),
    excess: series.excess.map((own) => Array.from(own, finiteOrNull)),
    gains: Array.from(series.days, (day) => finiteOrNull(gainByDay.get(day) ?? Number.NaN)),
  };
}
