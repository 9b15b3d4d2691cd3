import { counted } from "../../contract/errors/wording.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import { MAX_GAP_DAYS, type TickerFeatures } from "../../contract/market/ticker-series.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { muRow, type PanelDates } from "../../panel/as-of.ts";
import { type Fold, hasFewRows } from "../../panel/folds.ts";
import { medianSpan } from "../../panel/labels.ts";
import { joinRows, listNames } from "../../panel/rows.ts";
import type { PanelRows } from "../../panel/ticker-panel.ts";
import type { RowFacts } from "./modelled-ticker.ts";

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

/** Labels with a median of at least this many calendar days are not next-day returns. */
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
  if (hasFewRows(fitRows, features, folds)) {
    const detail = `${counted(fitRows, "fit row")}, ${counted(features, "feature")}`;
    listed.push({ code: "few_rows", ticker, detail });
  }
  return listed;
}

/** About the rows of all tickers that wait for the window of a feature. */
export function warmUpWarning(
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
