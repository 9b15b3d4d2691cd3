/** The forecasts of a ticker by one network, and what its first network says about its rows. */
import type { Day } from "../../contract/market/dates.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { trainingMeans } from "../../evaluate/baselines.ts";
import { deviation, mean, rootMeanSquare } from "../../evaluate/statistics.ts";
import { datesOf } from "../../panel/as-of.ts";
import { fitLabels, forecastReturns, type PanelRows } from "../../panel/ticker-panel.ts";
import type { WindowPlan } from "../../panel/window-plan.ts";
import { levelOf } from "../shared/evaluate-forecasts.ts";
import { lateTicker, listedOfRows } from "../shared/listed-warnings.ts";
import {
  type DateSpan,
  type HeldOutPart,
  type ModelledTicker,
  rowFacts,
  type ScoreModel,
  type ScoreRows,
} from "../shared/modelled-ticker.ts";

/** What the first network of a ticker says about its rows. */
type TickerFacts = Omit<ModelledTicker, "ticker" | "score" | "models" | "spread">;

/** The forecasts of a ticker's score rows in one block. */
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

/** Which network forecasts rows. */
interface Forecaster {
  /** The block whose labels it learned, and the block that it forecasts: another one if the network of that failed. */
  readonly learned: number;
  readonly block: number;
  /** The level of its forecasts comes from the labels known at this close; undefined for the labels of all fit rows. */
  readonly known: Day | undefined;
  /** The panel with all its fit rows. */
  readonly whole: PanelRows;
  /** Whether it is the first network of the ticker. */
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
  const { ticker, days, labelDays, y, volatility, relative } = panel;
  const rows = windows.score;
  const labels = fitLabels(panel);
  return {
    ticker,
    score: {
      days: rows.map((row) => days[row]!),
      labels: Float64Array.from(rows, (row) => y[row]!),
      labelDays: rows.map((row) => labelDays[row]!),
      volatility: Float64Array.from(rows, (row) => volatility[row]!),
      predicted: forecastReturns(panel, rows, predicted.score, by.known),
      spans: levelOf(panel, rows, by.known),
    },
    model: {
      block: by.block,
      fitRows: labels.length,
      labelMean: mean(labels),
      isStandIn: by.learned !== by.block,
    },
    predictions: predicted.score,
    predictionUnit: relative?.widths[rows.at(-1)!] ?? 1,
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
  const held = (part: "validate" | "calibrate"): HeldOutPart => {
    // The dates of a late ticker's rows are among the score rows of the others, so they judge no forecast.
    const rows = joins === undefined ? windows[part] : new Int32Array(0);
    return {
      ticker,
      days: rows.map((row) => days[row]!),
      labelDays: rows.map((row) => labelDays[row]!),
      predicted: forecastReturns(panel, rows, predicted[part].subarray(0, rows.length), learnedBy),
      spans: levelOf(panel, rows, learnedBy),
      realised: Float64Array.from(rows, (row) => y[row]!),
      trainingMean: trainingMeans(learned, rows.length),
      labelDeviation: deviation(fitLabels(whole)),
    };
  };
  const spanOf = (rows: Int32Array): DateSpan | undefined =>
    rows.length === 0 ? undefined : { start: days[rows[0]!]!, end: days[rows.at(-1)!]! };
  const facts = rowFacts(whole);
  return {
    dates: datesOf(panel),
    ...(joins === undefined ? {} : { joins }),
    fitLabels: fitLabels(whole),
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

/**
 * A ticker is judged by the calibration part if there is one, because the validation part chose the epochs.
 * @param validation the rows whose labels early stopping monitored. @param calibration empty without intervals. Both are empty for a late
 *   ticker.
 */
export function judgedBy(validation: HeldOutPart, calibration: HeldOutPart) {
  const heldOut = calibration.days.length > 0 ? calibration : validation;
  return { tested: [validation, calibration], heldOut, residuals: calibration };
}
