import type { RefitSettings, ShrinkageChoice } from "../../contract/config/panel-settings.ts";
import { counted } from "../../contract/errors/wording.ts";
import type { JudgedRows } from "../../contract/output/verdict.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { ConstantDescription } from "../../engine/pool/protocol.ts";
import { type Factors, isNegative } from "../../evaluate/shrinkage.ts";
import { muRow } from "../../panel/as-of.ts";
import type { RefitBlock } from "../../panel/refit-blocks.ts";
import type { ScoredTicker, ScoreTables } from "./evaluate-forecasts.ts";
import { type Listed, listedWarnings, olderForecast, warmUpWarning } from "./listed-warnings.ts";
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

/** The one value that a model predicts, and the parameters that may explain it. */
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
