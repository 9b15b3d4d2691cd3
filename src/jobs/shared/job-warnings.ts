import type { RefitSettings, ShrinkageChoice } from "../../contract/config/panel-settings.ts";
import { counted } from "../../contract/errors/wording.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import { MAX_GAP_DAYS, type TickerFeatures } from "../../contract/market/ticker-series.ts";
import type { JudgedRows } from "../../contract/output/verdict.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { ConstantDescription } from "../../engine/pool/protocol.ts";
import { type Factors, isNegative } from "../../evaluate/shrinkage.ts";
import { muRow, type PanelDates } from "../../panel/as-of.ts";
import { type Fold, hasFewRows } from "../../panel/folds.ts";
import { medianSpan } from "../../panel/labels.ts";
import type { RefitBlock } from "../../panel/refit-blocks.ts";
import { joinRows, listNames } from "../../panel/rows.ts";
import type { PanelRows } from "../../panel/ticker-panel.ts";
import type { ScoredTicker, ScoreTables } from "./evaluate-forecasts.ts";
import type { ModelledTicker, RowFacts } from "./modelled-ticker.ts";
import type { Inputs } from "./read-inputs.ts";

type ForecastTicker = Pick<ModelledTicker, "ticker" | "dates" | "warnings" | "listed"> & {
  readonly rows: Pick<RowFacts, "warmUp">;
};

/**
 * The warnings of a job once every ticker has ended. Their order does not depend on which ticker ended first: unused tickers,
 * then each ticker's own, in the given order, then those of all tickers together and those that list tickers.
 * @param done ascending by code point. @param evaluated warnings of the intervals and of the forecasts. @param listed further tickers.
 */
export function tickerWarnings(
  inputs: Pick<Inputs, "asOf" | "unused" | "unpricedDates">,
  done: readonly ForecastTicker[],
  evaluated: readonly Warning[],
  listed: readonly Listed[] = [],
): readonly Warning[] {
  const used = new Set<string | undefined>(done.map(({ ticker }) => ticker));
  const byTicker = Map.groupBy(evaluated, (warning) => warning.ticker);
  return [
    ...inputs.unused().filter(({ ticker }) => !used.has(ticker)),
    ...done.flatMap(({ ticker, warnings, dates }) => {
      const stale = muRow(dates, inputs.asOf).warning;
      return [...warnings, ...(byTicker.get(ticker) ?? []), ...(stale === undefined ? [] : [stale])];
    }),
    ...(byTicker.get(undefined) ?? []),
    ...warmUpWarning(done),
    ...listedWarnings([
      ...inputs.unpricedDates(),
      ...done.flatMap(({ dates }) => olderForecast(dates, inputs.asOf)),
      ...done.flatMap((ticker) => ticker.listed),
      ...listed,
    ]),
  ];
}

type Constant = Pick<ConstantDescription, "value"> &
  Partial<ConstantDescription> & {
    readonly prediction_scale?: number | undefined;
  };

/**
 * The warning of a model that predicts one constant, with the parameter to look at. It does not call that parameter the
 * cause: the features of the score rows may all be the same.
 */
export function constantWarning(ticker: string, constant: Constant): Warning {
  const { value, largest_alpha, min_child_samples, train_rows, prediction_scale } = constant;
  let remedy = "";
  if (typeof largest_alpha === "number") {
    remedy = ` With an alpha below ${largest_alpha}, at least one coefficient is not 0.`;
  } else if (min_child_samples !== undefined) {
    remedy = ` min_child_samples is ${min_child_samples} and there are ${train_rows} training rows. If no tree splits, lower min_child_samples.`;
  } else if (prediction_scale === 0) {
    remedy =
      " The loss directional does not determine the size of forecasts, and on the validation part no size was better than 0 by more than its error.";
  }
  // With `own` shrinkage, the forecasts of the output are s times that.
  const message = `${ticker}: the model predicts ${value} for every score row.${remedy}`;
  return { code: "constant_predictions", ticker, message };
}

/**
 * The warning that follows from the verdict of a job: its forecasts show no skill, or they show some and are too large. On rows before the
 * score rows, the verdict judges the models' own forecasts, so shrinkage corrects their size.
 */
export function verdictWarnings(
  { verdict, shrinkage }: Pick<ScoreTables, "verdict" | "shrinkage">,
  choice: ShrinkageChoice,
): Warning[] {
  if (verdict === undefined || verdict.state === "skill") return [];
  const { state, rows, sentence } = verdict;
  if (state !== "oversized") return [{ code: "no_skill", message: sentence }];
  if (choice !== "none" && rows !== "score") return [];
  const cure =
    choice === "none"
      ? pooledCure(shrinkage.by_date.s)
      : `They are too large although shrinkage is ${choice}.`;
  return [{ code: "oversized", message: `${sentence} ${cure}` }];
}

/** Two digits round factors above this to 1, which would change nothing. */
const MAX_FACTOR = 0.99;

/** @param factor that `pooled` would multiply every forecast by; 0 and 1 correct nothing. */
function pooledCure(factor: number): string {
  if (factor === 0)
    return "Rank by mu: the held-out rows support no size, so shrinkage pooled would set every forecast to 0.";
  if (factor === 1)
    return "Rank by mu: the sizes were right on the held-out rows, so shrinkage pooled would change nothing.";
  return `Set shrinkage to pooled: it multiplies every forecast by ${Math.min(MAX_FACTOR, Number(factor.toPrecision(2)))} and keeps their order.`;
}

/** Returns go against the forecasts, by the slope that shrinkage takes its factor from. @param blocks the factors of each block. */
export function negativeSlope(blocks: readonly Factors[]): Warning[] {
  const negative = blocks.filter(({ slope }) => slope !== undefined && isNegative(slope));
  const slope = negative[0]?.slope;
  if (slope === undefined) return [];
  const where = blocks.length === 1 ? "" : ` in ${negative.length} of ${counted(blocks.length, "block")}`;
  const message = `The slope of returns on held-out forecasts is ${slope.b!.toFixed(2)} with a standard error of ${slope.se!.toFixed(2)}: returns go against the forecasts. So shrinkage sets the common factor to 0${where}.`;
  return [{ code: "negative_slope", count: negative.length, message }];
}

export function wildForecasts(tickers: readonly ScoredTicker[]): Listed[] {
  const wild = tickers.filter((ticker) => ticker.isWild);
  return wild.map(({ score: { ticker } }) => ({ code: "wild_forecast", ticker }));
}

/** The warning that models of earlier blocks are used instead. @param ticker undefined for one model of all tickers. */
export function failedRefits(
  failed: readonly { readonly block: number; readonly rows: number; readonly message: string }[],
  ticker?: string,
): Warning[] {
  const [first] = failed;
  if (first === undefined) return [];
  const count = new Set(failed.map(({ block }) => block)).size;
  const rows = failed.reduce((sum, one) => sum + one.rows, 0);
  const models = count === 1 ? "the model of an earlier block" : "models of earlier blocks";
  const subject = ticker === undefined ? "" : `${ticker}: `;
  const message = `${subject}${counted(count, "refit")} failed, and ${models} forecast ${counted(rows, "row")}. The first error: ${first.message}`;
  return [{ code: "failed_refit", ...(ticker === undefined ? {} : { ticker }), count, message }];
}

export function noRefit(
  blocks: readonly RefitBlock[],
  { refit_every }: Pick<RefitSettings, "refit_every">,
): readonly Warning[] {
  if (refit_every === undefined || blocks.length > 1) return [];
  const message = `refit_every ${refit_every} changes nothing: the score rows lie on ${counted(refit_every, "date")} or fewer.`;
  return [{ code: "no_refit", message }];
}

/** If no ticker has a fold, there is no evidence for any forecast, and the factor of `shrinkage` is 0. `own` warns for each ticker. */
export function zeroedWarnings(
  tickers: readonly Pick<ModelledTicker, "folds">[],
  rows: JudgedRows,
  { shrinkage }: { readonly shrinkage: ShrinkageChoice },
): Warning[] {
  if (rows !== "out_of_fold" || shrinkage === "none" || shrinkage === "own") return [];
  if (tickers.some(({ folds = [] }) => folds.length > 0)) return [];
  const model = shrinkage === "pooled" ? " mu_model has the model's own forecasts." : "";
  const message = `No ticker has a cross-validation fold, so the factor of shrinkage ${shrinkage} is 0.${model} Use smaller or fewer folds, more history, or shrinkage none.`;
  return [{ code: "fewer_folds", count: 0, message }];
}

/** One ticker in a warning that a job gives once, with a list of tickers. */
export interface Listed {
  readonly code: keyof typeof SENTENCES;
  /** A ticker, or the name of a network. */
  readonly ticker: string;
  readonly detail?: string;
  /** For `chosen_early`: what early stopping monitored; the same for all networks of a job. */
  readonly watched?: "loss" | "IC";
}

/** The text before the list of each warning, in the order in which a job gives them. */
const SENTENCES = {
  older_forecast: (tickers) => `The mu of ${tickers} is older than as_of`,
  unpriced_dates: (tickers) =>
    `More than a tenth of the feature dates have no price of any ticker, so features may be dated a day early or late, for ${tickers}`,
  not_daily: (tickers) =>
    `Prices of ${tickers} are more than a day apart, so mu is not a next-day return, or comes from a model that learned longer returns; the median span in calendar days`,
  few_rows: (tickers) =>
    `There are fewer than 5 training rows per feature, in total or in the folds of at least a third of the out-of-fold rows, for ${tickers}`,
  late_ticker: (tickers) =>
    `Forecasts of ${tickers} begin with a later refit and have no folds or intervals, because there are too few training rows at the cut`,
  unscaled_features: (tickers) =>
    `No scaler is set, so the penalty favours features by their units; standard deviations of features differ more than tenfold for ${tickers}`,
  uncoded_categories: (tickers) =>
    `lightgbm reads categories that are not coded as 0, 1, 2, … (it cuts fractions off, and negative codes count as missing), for ${tickers}`,
  wild_forecast: (tickers) => `Forecasts of ${tickers} are far larger than the returns justify`,
  chosen_early: (networks, watched = "loss") =>
    `The first epoch was the best by the validation ${watched}, for ${networks}`,
} as const satisfies Partial<Record<Warning["code"], (count: string, watched?: Listed["watched"]) => string>>;

const COUNTED: Partial<Record<keyof typeof SENTENCES, string>> = { chosen_early: "network" };

/** One warning for each code that lists a ticker. @param listed tickers ascending within each code. */
export function listedWarnings(listed: readonly Listed[]): Warning[] {
  const byCode = Map.groupBy(listed, ({ code }) => code);
  return (Object.keys(SENTENCES) as (keyof typeof SENTENCES)[]).flatMap((code) => {
    const found = byCode.get(code);
    if (found === undefined) return [];
    const names = found.map(({ ticker, detail }) =>
      detail === undefined ? ticker : `${ticker} (${detail})`,
    );
    const sentence = SENTENCES[code](counted(found.length, COUNTED[code] ?? "ticker"), found[0]!.watched);
    return [{ code, message: `${sentence}: ${listNames(names)}.`, count: found.length }];
  });
}

/**
 * Lists a ticker more than a tenth of whose feature dates have no price.
 * @param priced ascending; feature dates before the first and after the last of them do not count.
 */
export function unpricedDates(
  { ticker, columns, days, values }: TickerFeatures,
  priced: Int32Array,
): Listed[] {
  const hasValue = (row: number) => columns.some((_, c) => !Number.isNaN(values[c * days.length + row]!));
  const dated = days.filter((day, i) => day >= priced[0]! && day <= priced.at(-1)! && hasValue(i));
  const matched = new Set(joinRows(priced, dated).feature);
  const unmatched = dated.filter((_, i) => !matched.has(i));
  if (unmatched.length <= dated.length / 10) return [];
  const detail = `${unmatched.length} of ${dated.length}, such as ${formatDay(unmatched[0]!)}`;
  return [{ code: "unpriced_dates", ticker, detail }];
}

export function olderForecast(dates: PanelDates, asOf: Day): Listed[] {
  const { row } = muRow(dates, asOf);
  if (row === undefined || dates.days[row]! === asOf) return [];
  return [{ code: "older_forecast", ticker: dates.ticker, detail: formatDay(dates.days[row]!) }];
}

interface Chosen {
  readonly best_epoch: number;
  readonly epochs?: readonly { readonly validation_ic?: number }[];
}

/**
 * Lists the networks whose first epoch was the best; for an ensemble, that of any member.
 * @param training by the network's name; `members` are those of an ensemble besides member 0.
 */
export function chosenEarly(
  training: ReadonlyMap<string, Chosen & { readonly members?: readonly Chosen[] }>,
): Listed[] {
  return [...training].flatMap(([ticker, { best_epoch, epochs = [], members = [] }]): Listed[] => {
    const all = [{ best_epoch }, ...members];
    const early = all.filter((member) => member.best_epoch === 1).length;
    if (early === 0) return [];
    const watched = epochs[0]?.validation_ic === undefined ? "loss" : "IC";
    const detail = all.length === 1 ? {} : { detail: `${early} of ${all.length} members` };
    return [{ code: "chosen_early", ticker, watched, ...detail }];
  });
}

export function lateTicker({ ticker, joins }: Pick<PanelRows, "ticker" | "joins">): Listed[] {
  return joins === undefined ? [] : [{ code: "late_ticker", ticker, detail: `from ${formatDay(joins)}` }];
}

const NOT_DAILY_DAYS = 2;

/** A spacing that changed by at least this factor is a different one; smaller changes are holidays. */
const OTHER_SPACING = 2;

/** Lists a ticker for what its rows show before anything is fitted. @param folds none for networks. */
export function listedOfRows(
  ticker: string,
  { spans, latestSpan: latest, fitRows, features }: RowFacts,
  folds: readonly Fold[] = [],
): Listed[] {
  const listed: Listed[] = [];
  const learned = medianSpan(spans);
  if (learned !== null && Math.max(learned, latest) >= NOT_DAILY_DAYS) {
    const hasChanged = Math.max(learned, latest) >= OTHER_SPACING * Math.min(learned, latest);
    const text = latest > MAX_GAP_DAYS ? `more than ${MAX_GAP_DAYS}` : String(latest);
    const detail = hasChanged ? `${learned} to learn from, ${text} before mu` : String(learned);
    listed.push({ code: "not_daily", ticker, detail });
  }
  return [...listed, ...fewRows(ticker, fitRows, features, folds)];
}

export function fewRows(ticker: string, fitRows: number, features: number, folds: readonly Fold[]): Listed[] {
  if (!hasFewRows(fitRows, features, folds)) return [];
  const detail = `${counted(fitRows, "fit row")}, ${counted(features, "feature")}`;
  return [{ code: "few_rows", ticker, detail }];
}

function warmUpWarning(
  tickers: readonly { readonly ticker: string; readonly rows: Pick<RowFacts, "warmUp"> }[],
): Warning[] {
  const waiting = tickers.flatMap(({ ticker, rows: { warmUp } }) =>
    warmUp.rows > 0 ? [{ ticker, ...warmUp }] : [],
  );
  if (waiting.length === 0) return [];
  const rows = waiting.reduce((sum, one) => sum + one.rows, 0);
  const longest = waiting.reduce((a, b) => (b.rows > a.rows ? b : a));
  const count = waiting.length;
  const message =
    `${counted(rows, "row")} at the start of ${counted(count, "ticker")} ${rows === 1 ? "is" : "are"} left out because a feature has no value yet; ` +
    `${longest.ticker} loses the most, ${longest.rows}, because of ${longest.feature}.`;
  return [{ code: "warm_up_rows", message, count }];
}
