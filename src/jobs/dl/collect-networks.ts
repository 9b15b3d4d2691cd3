/** The forecasts of a ticker by one network, and those of all blocks together. */
import { MucastError } from "../../contract/errors/errors.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { trainingMeans } from "../../evaluate/baselines.ts";
import { isConstant, mean, rootMeanSquare } from "../../evaluate/statistics.ts";
import { datesOf } from "../../panel/as-of.ts";
import { fitLabels, type PanelRows } from "../../panel/ticker-panel.ts";
import type { WindowPlan } from "../../panel/window-plan.ts";
import type { FitOutcome } from "../plan.ts";
import { plain } from "../shared/job-document.ts";
import {
  chosenEarly,
  constantWarning,
  failedRefits,
  lateTicker,
  listedOfRows,
} from "../shared/job-warnings.ts";
import {
  forecastRows,
  heldOutPart,
  joinRows,
  judgedBy,
  type ModelledTicker,
  rowFacts,
  type ScoreModel,
  type ScoreRows,
} from "../shared/modelled-ticker.ts";
import type {
  EndedNetwork,
  NetworkRecord,
  TrainedBlock,
  TrainedNetwork,
  TrainingRecord,
} from "./train-networks.ts";

type TickerFacts = Omit<ModelledTicker, "ticker" | "score" | "models" | "spread">;

export interface BlockForecasts {
  readonly ticker: string;
  readonly score: ScoreRows;
  readonly model: Omit<ScoreModel, "from" | "to">;
  /** Shape (score): the network's predictions, in units of its target. */
  readonly predictions: Float64Array;
  /** The log-return that a difference of 1 between two predictions of the last score row stands for. */
  readonly predictionUnit: number;
  /** From the ticker's first network only: those of all blocks would take too much memory. */
  readonly facts?: TickerFacts;
}

interface Forecaster {
  /** The block whose labels it learned, and the block that it forecasts: another one if the network of that failed. */
  readonly learned: number;
  readonly block: number;
  /** The level of its forecasts comes from the labels known at this close; undefined for the labels of all fit rows. */
  readonly known: Day | undefined;
  readonly whole: PanelRows;
  readonly begins: boolean;
  readonly warnings: readonly Warning[];
}

/** Combines the forecasts of a network with the rows of their ticker. @param panel `fit` holds the rows that the network learned from. */
export function forecastBlock(
  panel: PanelRows,
  windows: WindowPlan,
  predicted: Readonly<Record<"validate" | "calibrate" | "score", Float64Array>>,
  by: Forecaster,
): BlockForecasts {
  const labels = fitLabels(panel);
  return {
    ticker: panel.ticker,
    score: forecastRows(panel, windows.score, predicted.score, by.known),
    model: {
      block: by.block,
      fitRows: labels.length,
      labelMean: mean(labels),
      isStandIn: by.learned !== by.block,
    },
    predictions: predicted.score,
    predictionUnit: panel.relative?.widths[windows.score.at(-1)!] ?? 1,
    ...(by.begins ? { facts: tickerFacts(panel, windows, predicted, by) } : {}),
  };
}

function tickerFacts(
  panel: PanelRows,
  windows: WindowPlan,
  predicted: Readonly<Record<"validate" | "calibrate", Float64Array>>,
  { whole, warnings }: Forecaster,
): TickerFacts {
  const { ticker, days, labelDays, y } = panel;
  const { joins } = whole;
  const { train } = windows;
  const learned = Float64Array.from(train, (row) => y[row]!);
  const learnedBy = train.length === 0 ? undefined : labelDays[train.at(-1)!]!;
  const labels = fitLabels(whole);
  const held = (part: "validate" | "calibrate") => {
    // The dates of a late ticker's rows are among the score rows of the others, so they judge no forecast.
    const rows = joins === undefined ? windows[part] : new Int32Array(0);
    const forecasts = forecastRows(panel, rows, predicted[part].subarray(0, rows.length), learnedBy);
    return heldOutPart(ticker, forecasts, trainingMeans(learned, rows.length), labels);
  };
  const spanOf = (rows: Int32Array) =>
    rows.length === 0 ? null : { start: formatDay(days[rows[0]!]!), end: formatDay(days[rows.at(-1)!]!) };
  const facts = rowFacts(whole);
  return {
    dates: datesOf(panel),
    ...(joins === undefined ? {} : { joins }),
    fitLabels: labels,
    ...judgedBy(held("validate"), held("calibrate")),
    unit: learned.length === 0 ? 0 : rootMeanSquare(learned) ** 2,
    rows: facts,
    splits: {
      train: spanOf(train),
      validate: spanOf(windows.validate),
      calibrate: spanOf(windows.calibrate),
    },
    warnings,
    listed: [...listedOfRows(ticker, { ...facts, fitRows: panel.fit.length }), ...lateTicker(whole)],
  };
}

interface Part extends TrainedBlock {
  /** Why the network of the block itself failed. */
  readonly error: MucastError | undefined;
}

/**
 * The forecasts of all tickers, and how their networks were trained. A ticker fails with the first network in time order that fails and has
 * none in its place.
 * @param networks as `trainNetworks` returns them. @param blocks the number of blocks.
 * @throws MucastError of a joint network.
 */
export function collectNetworks(networks: readonly EndedNetwork[], blocks: number): FitOutcome {
  const tickers: ModelledTicker[] = [];
  const failures: Failure[] = [];
  const warnings: Warning[] = [];
  const blockRows: number[] = [];
  const training = new Map<string, TrainingRecord>();
  const blockTraining = new Map<string, () => ReturnType<typeof recordBlocks>>();
  const fail = (ticker: string, { code, message }: MucastError) => failures.push({ ticker, code, message });
  const bySeries = [...Map.groupBy(networks, ({ series }) => series)];
  for (const [{ name, joint, begins }, ended] of bySeries.sort(([a], [b]) =>
    compareCodePoints(a.name, b.name),
  )) {
    const fault = ended.find((one) => one.result instanceof MucastError)?.result as MucastError | undefined;
    if (fault !== undefined && joint) throw fault;
    if (fault !== undefined) {
      fail(name, fault);
      continue;
    }
    const trained = ended as readonly (EndedNetwork & { readonly result: TrainedNetwork })[];
    const good = trained.filter(({ error }) => error === undefined);
    training.set(name, good[0]!.result.record);
    const records = new Map(good.map(({ block, result: { record } }) => [block, record]));
    blockTraining.set(name, () => recordBlocks(records, blocks));
    const parts = trained
      .flatMap(({ error, result }) => result.tickers.map((own): Part => ({ ...own, error })))
      .filter(({ facts, score }) => facts !== undefined || score.days.length > 0);
    if (joint) {
      for (const { block, result } of trained)
        blockRows[block] = result.tickers.reduce((sum, { model }) => sum + model.fitRows, 0);
      warnings.push(...failedRefits(failedBlocks(parts)));
    }
    const lost = trained.flatMap(({ result }) => result.lost);
    const ofTicker = Map.groupBy(parts, ({ ticker }) => ticker);
    for (const [ticker, begin] of begins) {
      const own = lost.find(({ data }) => data.ticker === ticker);
      const reason = own ?? trained.find(({ block }) => block === begin)!.error;
      if (reason === undefined) tickers.push(joinBlocks(ofTicker.get(ticker)!, !joint));
      else fail(ticker, reason);
    }
  }
  return {
    tickers: tickers.sort((a, b) => compareCodePoints(a.ticker, b.ticker)),
    ...{ failures, warnings, blockRows, blockTraining },
    listed: chosenEarly(training),
    training: plain(training),
  };
}

/**
 * One ticker with the forecasts of all blocks.
 * @param parts in time order, the first from its first network. @param hasNetworks whether its networks, and the failed ones, are its own.
 */
function joinBlocks(parts: readonly Part[], hasNetworks: boolean): ModelledTicker {
  const { ticker, spread } = parts.at(-1)!;
  const facts = parts[0]!.facts!;
  let to = 0;
  return {
    ...facts,
    ticker,
    score: joinRows(parts.map(({ score }) => score)),
    models: parts.map(({ model, score: { days } }) => {
      const from = to;
      to += days.length;
      return { ...model, from, to };
    }),
    ...(spread === undefined ? {} : { spread }),
    warnings: [
      ...facts.warnings,
      ...constantWarnings(parts),
      ...(hasNetworks ? failedRefits(failedBlocks(parts), ticker) : []),
    ],
  };
}

function failedBlocks(parts: readonly Part[]): Parameters<typeof failedRefits>[0] {
  return parts.flatMap(({ error, model: { block }, score: { days } }) =>
    error === undefined ? [] : [{ block, rows: days.length, message: error.message }],
  );
}

/**
 * Warns if each network predicts one value, and one of them for at least two rows. Checks the predictions: with target
 * `relative`, the forecasts that they stand for vary by date.
 */
function constantWarnings(parts: readonly Part[]): Warning[] {
  const shown = parts.find(({ predictions }) => predictions.length >= 2);
  if (shown === undefined || !parts.every(({ predictions }) => isConstant(predictions))) return [];
  const { ticker, predictions, predictionScale } = shown;
  return [constantWarning(ticker, { value: predictions[0]!, prediction_scale: predictionScale })];
}

/**
 * The entry of a network in the output's `refits.training`: for each block the means over its members, null without its own network.
 * @param records by block.
 */
function recordBlocks(records: ReadonlyMap<number, TrainingRecord>, blocks: number) {
  const byBlock = Array.from({ length: blocks }, (_, b) => {
    const record = records.get(b);
    return record === undefined ? undefined : [record, ...(record.members ?? [])];
  });
  type Member = Omit<NetworkRecord, "parameters">;
  const meansOf = (value: (member: Member) => number): (number | null)[] =>
    byBlock.map((members) => (members === undefined ? null : mean(Float64Array.from(members, value))));
  const best = ({ epochs, best_epoch }: Member) => epochs[best_epoch - 1]!;
  const ics = meansOf((member) => best(member).validation_ic ?? Number.NaN);
  return {
    epochs: meansOf(({ epochs }) => epochs.length),
    best_epochs: meansOf(({ best_epoch }) => best_epoch),
    validation_losses: meansOf((member) => best(member).validation_loss),
    zero_validation_losses: meansOf(({ zero_validation_loss }) => zero_validation_loss),
    ...(ics.some((ic) => ic !== null && !Number.isNaN(ic)) ? { validation_ics: ics } : {}),
  };
}
