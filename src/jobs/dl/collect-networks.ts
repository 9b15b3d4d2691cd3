/** Gathers the networks of all blocks into the forecasts of tickers. */
import { MucastError } from "../../contract/errors/errors.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { concatenate } from "../../evaluate/forecast-rows.ts";
import { isConstant } from "../../evaluate/statistics.ts";
import type { FitOutcome } from "../plan.ts";
import { plain } from "../shared/job-document.ts";
import { chosenEarly } from "../shared/listed-warnings.ts";
import type { ModelledTicker } from "../shared/modelled-ticker.ts";
import { constantWarning, failedRefits } from "../shared/ticker-warnings.ts";
import { recordBlocks, type TrainedBlock, type TrainingRecord } from "./ensemble.ts";
import type { EndedNetwork, TrainedNetwork } from "./train-networks.ts";

/** The forecasts of a ticker in one block. */
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
  const scores = parts.map(({ score }) => score);
  const join = (key: "labels" | "volatility" | "predicted") => concatenate(scores.map((score) => score[key]));
  const joinDays = (key: "days" | "labelDays") => Int32Array.from(scores.flatMap((score) => [...score[key]]));
  let to = 0;
  return {
    ...facts,
    ticker,
    score: {
      days: joinDays("days"),
      labelDays: joinDays("labelDays"),
      labels: join("labels"),
      volatility: join("volatility"),
      predicted: join("predicted"),
      spans: scores.flatMap(({ spans }) => spans),
    },
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

/** The blocks whose own network failed. */
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
