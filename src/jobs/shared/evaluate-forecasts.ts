import { recordsRefits, type SharedSettings } from "../../contract/config/panel-settings.ts";
import type { Day } from "../../contract/market/dates.ts";
import type { TickerExposures } from "../../contract/market/ticker-series.ts";
import { MIN_ORDER_TICKERS } from "../../contract/output/later-close.ts";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import type { JudgedRows, Verdict } from "../../contract/output/verdict.ts";
import { type SetTables, setTables } from "../../evaluate/baselines.ts";
import { blockFactors } from "../../evaluate/block-factors.ts";
import { delayedOrders } from "../../evaluate/delayed-order.ts";
import { exposureTable } from "../../evaluate/exposures.ts";
import { asRanked, type DatedForecasts, type ForecastRows, labelled } from "../../evaluate/forecast-rows.ts";
import { blockSkills, type ForecastTable } from "../../evaluate/forecast-table.ts";
import { withoutResiduals } from "../../evaluate/intervals/conformal.ts";
import { coverageByDate } from "../../evaluate/intervals/coverage.ts";
import {
  type IntervalChoice,
  type IntervalTables,
  intervalTables,
  tickerIntervals,
} from "../../evaluate/intervals/ticker-intervals.ts";
import { commonLevels, type Levels, shrinkForecasts, withLevels } from "../../evaluate/levels.ts";
import { isWild, shrinkageTable } from "../../evaluate/shrinkage.ts";
import { deviation } from "../../evaluate/statistics.ts";
import { laterSentence } from "../../evaluate/verdict/later-sentence.ts";
import { type JudgedSet, verdictOf } from "../../evaluate/verdict/verdict.ts";
import { muRow } from "../../panel/as-of.ts";
import { ONE_BLOCK, type RefitBlock } from "../../panel/refit-blocks.ts";
import { negativeSlope, verdictWarnings } from "./job-warnings.ts";
import type { ModelledTicker, ScoreRows } from "./modelled-ticker.ts";

export type ScoreSettings = Pick<SharedSettings, "intervals" | "shrinkage" | "refit_every" | "window"> &
  Partial<Pick<SharedSettings, "delay">>;

export type ScoredTicker = ReturnType<typeof scoreTicker>;

type ModelTable = ForecastTable & Pick<OutputBlob["metrics"]["score"], "by_delay" | "exposures">;

export type ScoreTables = ReturnType<typeof scoreTables>;

export type Exposures = ReadonlyMap<string, TickerExposures>;

export type Evaluation = ReturnType<typeof evaluateForecasts>;

/**
 * Intervals, metrics, baselines, shrinkage and the verdict of the forecasts of all tickers.
 * @param rows the rows before the score rows by which the forecasts are judged. @param asOf the date of the forecasts.
 * @param exposures at the dates of all rows; absent for too few tickers.
 */
export function evaluateForecasts(
  modelled: readonly ModelledTicker[],
  rows: Exclude<JudgedRows, "score">,
  settings: ScoreSettings,
  asOf: Day,
  blocks: readonly RefitBlock[] = ONE_BLOCK,
  exposures?: Exposures,
) {
  const levels = {
    heldOut: commonLevels(modelled.map(({ heldOut }) => heldOut)),
    score: commonLevels(modelled.map(({ ticker, score }) => ({ ...score, ticker }))),
  };
  const levelled = modelled.map((own) => ({
    ...own,
    heldOut: withLevels(own.heldOut, levels.heldOut),
    residuals: withLevels(own.residuals, levels.heldOut),
    score: withLevels(own.score, levels.score),
  }));
  const factors = blockFactors(settings.shrinkage, levelled, blocks);
  const factorOf = (ticker: string, block: number) => factors[block]!.byTicker.get(ticker)!;
  const hasZero = modelled.some(({ ticker, models }) =>
    models.some(({ block }) => factorOf(ticker, block) === 0),
  );
  const tickers = levelled.map((own) =>
    scoreTicker(own, (block) => factorOf(own.ticker, block), hasZero, settings, asOf),
  );
  // The calibration part if there is one: the validation part chose the epochs.
  const judged =
    rows === "calibration"
      ? modelled.map(({ residuals }) => residuals).filter(({ days }) => days.length > 0)
      : (rows === "out_of_fold" ? levelled : modelled).map(({ heldOut }) => heldOut);
  const tables = scoreTables(tickers, settings, { rows, forecasts: judged }, levels, exposures);
  const starts = blocks.map(({ from }) => from);
  const scored = tickers.map(({ score }) => score);
  const skills = recordsRefits(settings) && tickers.length > 0 ? blockSkills(scored, starts) : [];
  // `late_ticker` reports the others.
  const unjudged = modelled.filter(
    ({ residuals, joins }) => residuals.days.length === 0 && joins === undefined,
  );
  return {
    tickers,
    tables,
    /** One entry per block, with the factors of shrinkage by ticker; empty if neither refits nor a window were requested. */
    blocks: skills.map((skill, b) => ({ ...skill, start: starts[b]!, factors: factors[b]!.byTicker })),
    warnings: [
      ...tickers.flatMap((ticker) => ticker.warnings),
      ...(settings.intervals === undefined || rows === "out_of_fold"
        ? []
        : unjudged.map(({ ticker }) => withoutResiduals(ticker))),
      ...negativeSlope(factors),
      ...verdictWarnings(tables, settings.shrinkage),
    ],
  };
}

/**
 * Multiplies a ticker's forecasts by its factors, above their levels with `pooled`, and adds the historical mean and the intervals.
 * @param hasZero whether a factor of any ticker is 0, so that all tickers of a date keep the model's forecasts.
 */
function scoreTicker(
  own: ModelledTicker & { readonly score: ScoreRows & Pick<DatedForecasts, "levels"> },
  factorOf: (block: number) => number,
  hasZero: boolean,
  { intervals, shrinkage }: ScoreSettings,
  asOf: Day,
) {
  const { ticker, dates, fitLabels, heldOut, residuals, models, spread } = own;
  const { days, labels, labelDays, volatility, predicted: model, levels } = own.score;
  const isPooled = shrinkage === "pooled";
  const predicted = model.slice();
  const trainingMean = new Float64Array(model.length);
  for (const { block, from, to, labelMean } of models) {
    const starts = isPooled ? levels?.subarray(from, to) : undefined;
    predicted.set(shrinkForecasts(model.subarray(from, to), starts, factorOf(block)), from);
    trainingMean.fill(labelMean, from, to);
  }
  // Held-out rows were known before the first model forecast a score row.
  const publish = <T extends DatedForecasts>(rows: T): T => ({
    ...rows,
    predicted: shrinkForecasts(
      rows.predicted,
      isPooled ? rows.levels : undefined,
      factorOf(models[0]!.block),
    ),
  });
  const factor = factorOf(models.at(-1)!.block);
  const mu = muRow(dates, asOf).row === undefined ? undefined : predicted.at(-1);
  const rows = { days, labelDays, realised: labels, predicted, volatility };
  const labelDeviation = deviation(fitLabels);
  return {
    dates,
    /** The forecast return at `asOf`; undefined if its last row is too old. */
    mu,
    /** Published forecasts: the model's, times the factors. */
    score: {
      ...{ ticker, days, predicted, realised: labels, trainingMean, labelDeviation },
      ...(isPooled ? { ranked: model } : {}),
    },
    /** The models' own forecasts. */
    ...{ heldOut, residuals },
    /** Of the last model, which multiplies mu. */
    factor,
    /** Shape (score): only if `pooled` shrinkage multiplies some of the job by 0, which cannot be undone. */
    model: isPooled && hasZero ? model : undefined,
    /** For an ensemble, how far its members' published forecasts of the last score row are from each other. */
    spread: spread === undefined ? undefined : factor * spread,
    isWild: isWild({ fitLabels, heldOut: publish(heldOut), score: predicted, mu }),
    ...tickerIntervals(ticker, rows, publish(residuals), intervals),
  };
}

/** @param heldOut the rows before the score rows by which the models' own forecasts are judged. */
function scoreTables(
  tickers: readonly ScoredTicker[],
  { intervals, delay = 0 }: ScoreSettings,
  heldOut: JudgedSet,
  levels: { readonly heldOut: Levels; readonly score: Levels },
  exposures?: Exposures,
) {
  const outOfFold = heldOut.rows === "out_of_fold" ? heldOut.forecasts : undefined;
  const bounded = tickers.flatMap((ticker) => ticker.intervals ?? []);
  const covered = intervals && intervalTables(bounded, intervals.alpha);
  const scored = setTables(tickers.map((ticker) => ticker.score));
  const tested = outOfFold && setTables(outOfFold);
  const tables = (name: keyof SetTables) => ({
    score: scored[name],
    ...(tested && { out_of_fold: tested[name] }),
  });
  /** What the order of the models' own forecasts is worth, which no factor changes. */
  const orderWorth = (rows: readonly ForecastRows[]) => {
    if (rows.length === 0) return {};
    const by_delay = delayedOrders(rows, delay);
    const compared = rows.filter(({ days }) => days.length > 0).length;
    if (exposures === undefined || compared < MIN_ORDER_TICKERS) return { by_delay };
    return { by_delay, exposures: exposureTable(rows, exposures) };
  };
  const score: ModelTable = {
    ...scored.model,
    ...orderWorth(tickers.map((ticker) => asRanked(ticker.score))),
  };
  const folds: ModelTable | undefined = tested && { ...tested.model, ...orderWorth(outOfFold!) };
  const isOfModel = tickers.some(({ model }) => model !== undefined);
  const orders = { score: score.by_delay, out_of_fold: folds?.by_delay, isOfModel };
  return {
    score,
    ...(folds && { outOfFold: folds }),
    baselines: { zero: tables("zero"), mean: tables("mean") },
    shrinkage: shrinkageTable(tickers.map((ticker) => ticker.heldOut)),
    levels,
    ...(covered && { intervals: covered }),
    ...(tickers.length === 0 ? {} : { verdict: judge(tickers, intervals, covered, heldOut, orders) }),
  };
}

function judge(
  tickers: readonly ScoredTicker[],
  intervals: IntervalChoice,
  covered: IntervalTables | undefined,
  heldOut: JudgedSet,
  orders: Parameters<typeof laterSentence>[0],
): Verdict {
  // The held-out rows with the intervals that earlier residuals give them, for a method that has these.
  const prequential = tickers.flatMap(({ residuals, intervals: own }) => {
    const tested = own?.requested.prequential;
    return tested === undefined ? [] : [{ ...tested, days: residuals.days }];
  });
  const sets: JudgedSet[] = [{ ...heldOut, coverage: intervals && { byDate: coverageByDate(prequential) } }];
  const forecasts = tickers.map(({ score }) => labelled(score)).filter(({ days }) => days.length > 0);
  if (forecasts.length > 0) {
    const bounded = tickers.map(({ score, bounds }) => ({ ...score, ...bounds }));
    const coverage = intervals && {
      byDate: coverageByDate(bounded),
      byVolatility: covered?.by_volatility,
    };
    sets.push({ rows: "score", forecasts, coverage });
  }
  const { judged, ...headline } = verdictOf(sets, intervals);
  const later = laterSentence(orders, headline.rows);
  return { ...headline, ...(later === undefined ? {} : { later }), judged };
}
