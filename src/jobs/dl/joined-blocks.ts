import type { Warning } from "../../contract/problems/warnings.ts";
import { concatenate } from "../../evaluate/forecast-rows.ts";
import { isConstant } from "../../evaluate/statistics.ts";
import type { ScoreRows } from "../shared/score-tables.ts";
import { constantWarning } from "../shared/ticker-warnings.ts";
import type { TickerForecasts, TrainedTicker } from "./planned-network.ts";

/** What one network forecasts for a ticker. */
export interface TickerPart<T extends TickerForecasts = TickerForecasts> {
  readonly forecasts: T;
  /** Of the network. */
  readonly predictionScale: number | undefined;
}

/**
 * One ticker with the forecasts of the networks of all blocks; `spread` is that of the network that forecasts its last row.
 * @param first of the first block; `later` of the other blocks with score rows of the ticker, in time order.
 * @param warnings about the later networks.
 */
export function joinedBlocks(
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
  };
}

/**
 * Tells that each network predicts one value, and one of them for at least two rows. Looks at predictions: with target `relative` the
 * forecasts that they stand for vary by date.
 */
function constantWarnings(parts: readonly TickerPart[]): Warning[] {
  if (!parts.every(({ forecasts }) => isConstant(forecasts.predictions))) return [];
  const shown = parts.find(({ forecasts }) => forecasts.predictions.length >= 2);
  if (shown === undefined) return [];
  const { forecasts, predictionScale } = shown;
  const constant = { value: forecasts.predictions[0]!, prediction_scale: predictionScale };
  return [constantWarning(forecasts.ticker, constant)];
}
