import { MucastError } from "../../contract/errors/errors.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { concatenate } from "../../evaluate/forecast-rows.ts";
import { isConstant, mean } from "../../evaluate/statistics.ts";
import type { ScoreRows } from "../shared/modelled-ticker.ts";
import type { OrderedJson } from "../shared/ordered-json.ts";
import { constantWarning, type FailedRefit, failedRefits } from "../shared/ticker-warnings.ts";
import type { TrainedNetwork, TrainingRecord } from "./ensemble.ts";
import type { NetworkFault, NetworkMembers } from "./network-members.ts";
import type { PlannedNetwork, TickerForecasts, TrainedTicker } from "./planned-network.ts";
import { isOfLearnedRows } from "./train-networks.ts";

/** The results of the networks of all blocks. */
export interface TrainOutcome {
  readonly trained: readonly TrainedTicker[];
  /** Records of the first networks, by ticker or `portfolio`; ascending by code point. */
  readonly training: ReadonlyMap<string, TrainingRecord>;
  /** Records of the networks that were trained for their own block, by the same names, then by block. */
  readonly blockTraining: ReadonlyMap<string, ReadonlyMap<number, BlockTraining>>;
  readonly failures: readonly Failure[];
  /** Warnings about failed refits of a joint network. */
  readonly warnings: readonly Warning[];
  /** For a joint network, by block: the number of rows of all tickers that it learned from. Empty for networks of single tickers. */
  readonly blockRows: readonly number[];
}

/** A network of a later block that could not learn from its rows. */
interface FailedNetwork {
  readonly network: PlannedNetwork;
  readonly error: NetworkFault;
}

/** Gathers the networks of all blocks as they end, and names those that forecast the rows of failed ones. */
export class TrainedBlocks {
  /** Those that were trained for their own block, by name, in time order. */
  readonly #done = new Map<string, PlannedNetwork[]>();
  readonly #training = new Map<string, TrainingRecord>();
  readonly #blockTraining = new Map<string, Map<number, BlockTraining>>();
  /** By ticker: the parts from its first network, and from the later ones. */
  readonly #first = new Map<string, TickerPart<TrainedTicker>>();
  readonly #later = new Map<string, TickerPart[]>();
  /** By the network's name. */
  readonly #failures = new Map<string, NetworkFault>();
  /** The block of each of them. */
  readonly #failedBlocks = new Map<string, number>();
  /** Tickers that cannot take part in the joint network of a block with rows of theirs, or whose first network, a joint one, failed. */
  readonly #lost = new Map<string, NetworkFault>();
  /** Without a replacement so far. */
  readonly #failed: FailedNetwork[] = [];
  /** The errors of the networks that these replace. */
  readonly #replaced = new Map<PlannedNetwork, NetworkFault>();
  /** By ticker; the key is undefined for all tickers of a joint network. */
  readonly #refits = new Map<string | undefined, FailedRefit[]>();
  readonly #blockRows: number[] = [];

  /**
   * Receives networks that have ended.
   * @throws MucastError of a joint network that no other can replace.
   */
  add(ended: readonly NetworkMembers[]): void {
    for (const { network, result } of ended.toSorted((a, b) => a.network.block - b.network.block)) {
      if ("code" in result) this.#addFault(network, result);
      else this.#addResult(network, result);
    }
  }

  #addFault(network: PlannedNetwork, error: NetworkFault): void {
    if (!network.isFirst && !network.isStandIn && isOfLearnedRows(error)) {
      this.#failed.push({ network, error });
      for (const ticker of network.begins) this.#lost.set(ticker, error);
      return;
    }
    if (network.joint && error instanceof MucastError) throw error;
    // Blocks end in any order, and the first in time order is reported.
    if (network.block >= (this.#failedBlocks.get(network.name) ?? Number.POSITIVE_INFINITY)) return;
    this.#failedBlocks.set(network.name, network.block);
    this.#failures.set(network.name, error);
  }

  #addResult(network: PlannedNetwork, result: TrainedNetwork): void {
    const { name, block, joint, isFirst } = network;
    const error = this.#replaced.get(network);
    if (error === undefined) {
      pushed(this.#done, name, network);
      if (isFirst) this.#training.set(name, result.record);
      const byBlock = this.#blockTraining.get(name) ?? new Map<number, BlockTraining>();
      this.#blockTraining.set(name, byBlock.set(block, blockTraining(result.record)));
    }
    if (joint) this.#blockRows[block] = rowsOf(result);
    const { predictionScale } = result;
    for (const forecasts of result.tickers) {
      const { ticker, score } = forecasts;
      if ("validation" in forecasts) this.#first.set(ticker, { forecasts, predictionScale });
      else if (score.days.length > 0) {
        pushed(this.#later, ticker, { forecasts, predictionScale });
        if (error === undefined) continue;
        const refit = { block, rows: score.days.length, message: error.message };
        pushed(this.#refits, joint ? undefined : ticker, refit);
      }
    }
    for (const reason of network.excluded()) {
      const left = network.tickers.find((ticker) => ticker === reason.data.ticker);
      if (left !== undefined && !this.#lost.has(left)) this.#lost.set(left, reason);
    }
  }

  /** For each failed network, the last one of its name before it, which is trained once more and forecasts its rows. */
  takeStandIns(): PlannedNetwork[] {
    return this.#failed.splice(0).flatMap(({ network: { name, block }, error }) => {
      const last = this.#done.get(name)?.findLast((network) => network.block < block);
      // If the first network failed, so has its ticker.
      if (last === undefined) return [];
      const standIn = last.standIn(block);
      this.#replaced.set(standIn, error);
      return [standIn];
    });
  }

  outcome(): TrainOutcome {
    const failed = [...this.#failures, ...this.#lost];
    const failures = failed.map(([ticker, { code, message }]) => ({ ticker, code, message }));
    const first = [...this.#first].filter(
      ([ticker]) => !this.#failures.has(ticker) && !this.#lost.has(ticker),
    );
    const training = [...this.#training].filter(([name]) => !this.#failures.has(name));
    const trained = first.sort(byName).map(([ticker, part]) => this.#joined(ticker, part));
    return {
      // A joint network also learns from late tickers that have nothing to forecast.
      trained: trained.filter(({ joins, score }) => joins === undefined || score.days.length > 0),
      training: new Map(training.sort(byName)),
      blockTraining: new Map(training.map(([name]) => [name, this.#blockTraining.get(name)!])),
      failures: failures.sort((a, b) => compareCodePoints(a.ticker, b.ticker)),
      warnings: failedRefits(this.#refits.get(undefined) ?? []),
      blockRows: this.#blockRows,
    };
  }

  #joined(ticker: string, first: TickerPart<TrainedTicker>): TrainedTicker {
    const later = this.#later.get(ticker) ?? [];
    const inOrder = later.toSorted((a, b) => blockOf(a) - blockOf(b));
    return joinedBlocks(first, inOrder, failedRefits(this.#refits.get(ticker) ?? [], ticker));
  }
}

function pushed<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return compareCodePoints(a, b);
}

function blockOf({ forecasts }: TickerPart): number {
  return forecasts.models[0]!.block;
}

function rowsOf({ tickers }: TrainedNetwork): number {
  return tickers.reduce((sum, { models: [model] }) => sum + model!.fitRows, 0);
}

/** The forecasts of one network for a ticker. */
interface TickerPart<T extends TickerForecasts = TickerForecasts> {
  readonly forecasts: T;
  /** Of the network. */
  readonly predictionScale: number | undefined;
}

/**
 * One ticker with the forecasts of the networks of all blocks; `spread` comes from the network that forecasts its last row.
 * @param first of the first block; `later` of the other blocks with score rows of the ticker, in time order.
 * @param warnings about the later networks.
 */
function joinedBlocks(
  first: TickerPart<TrainedTicker>,
  later: readonly TickerPart[],
  warnings: readonly Warning[],
): TrainedTicker {
  const parts = [first, ...later];
  const told = [...first.forecasts.warnings, ...constantWarnings(parts), ...warnings];
  const last = later.at(-1)?.forecasts;
  if (last === undefined) return { ...first.forecasts, warnings: told };
  let from = 0;
  const models = parts.flatMap(({ forecasts: { models: own, score } }) => {
    const at = from;
    from += score.days.length;
    return own.map((model) => ({ ...model, from: at, to: from }));
  });
  return {
    ...first.forecasts,
    score: joinedRows(parts.map(({ forecasts }) => forecasts.score)),
    models,
    predictions: concatenate(parts.map(({ forecasts }) => forecasts.predictions)),
    predictionUnit: last.predictionUnit,
    ...(last.spread === undefined ? {} : { spread: last.spread }),
    warnings: told,
  };
}

function joinedRows(parts: readonly ScoreRows[]): ScoreRows {
  const days = (key: "days" | "labelDays") => Int32Array.from(parts.flatMap((part) => [...part[key]]));
  const values = (key: "labels" | "volatility" | "predicted") => concatenate(parts.map((part) => part[key]));
  return {
    days: days("days"),
    labelDays: days("labelDays"),
    labels: values("labels"),
    volatility: values("volatility"),
    predicted: values("predicted"),
    spans: parts.flatMap(({ spans }) => spans),
  };
}

/**
 * Warns if each network predicts one value, and one of them for at least two rows. Checks the predictions: with target
 * `relative`, the forecasts that they stand for vary by date.
 */
function constantWarnings(parts: readonly TickerPart[]): Warning[] {
  if (!parts.every(({ forecasts }) => isConstant(forecasts.predictions))) return [];
  const shown = parts.find(({ forecasts }) => forecasts.predictions.length >= 2);
  if (shown === undefined) return [];
  const { forecasts, predictionScale } = shown;
  const constant = { value: forecasts.predictions[0]!, prediction_scale: predictionScale };
  return [constantWarning(forecasts.ticker, constant)];
}

/** How the network of one block was trained; for an ensemble, the means over its members. */
interface BlockTraining {
  /** Epochs until training stopped. */
  readonly epochs: number;
  readonly bestEpoch: number;
  /** After the best epoch. */
  readonly validationLoss: number;
  /** The loss of the zero forecast. */
  readonly zeroValidationLoss: number;
  /** After the best epoch, with `monitor` `ic`. */
  readonly validationIc?: number;
}

function blockTraining({ members = [], ...first }: TrainingRecord): BlockTraining {
  const all = [first, ...members];
  const best = all.map(({ epochs, best_epoch }) => epochs[best_epoch - 1]!);
  const ics = best.flatMap(({ validation_ic }) => validation_ic ?? []);
  const meanOf = (values: readonly number[]) => mean(Float64Array.from(values));
  return {
    epochs: meanOf(all.map(({ epochs }) => epochs.length)),
    bestEpoch: meanOf(all.map(({ best_epoch }) => best_epoch)),
    validationLoss: meanOf(best.map(({ validation_loss }) => validation_loss)),
    zeroValidationLoss: meanOf(all.map(({ zero_validation_loss }) => zero_validation_loss)),
    ...(ics.length === all.length ? { validationIc: meanOf(ics) } : {}),
  };
}

type Training = NonNullable<NonNullable<OutputBlob["refits"]>["training"]>[string];

/** The entry of a network in the output's `refits.training`. @param trained by block; a block without its own network has none. */
export function blockTrainingOf(trained: ReadonlyMap<number, BlockTraining>, blocks: number) {
  const byBlock = (value: (training: BlockTraining) => number): (number | null)[] =>
    Array.from({ length: blocks }, (_, b) => {
      const training = trained.get(b);
      return training === undefined ? null : value(training);
    });
  const hasIc = trained.values().some(({ validationIc }) => validationIc !== undefined);
  return {
    epochs: byBlock(({ epochs }) => epochs),
    best_epochs: byBlock(({ bestEpoch }) => bestEpoch),
    validation_losses: byBlock(({ validationLoss }) => validationLoss),
    zero_validation_losses: byBlock(({ zeroValidationLoss }) => zeroValidationLoss),
    ...(hasIc ? { validation_ics: byBlock(({ validationIc }) => validationIc!) } : {}),
  } satisfies Readonly<Record<keyof Omit<Training, "validation_ics">, OrderedJson>>;
}
