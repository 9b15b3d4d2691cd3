import { MucastError } from "../contract/errors/errors.ts";
import { counted } from "../contract/errors/wording.ts";
import { type Day, formatDay } from "../contract/market/dates.ts";
import { compareCodePoints, MAX_GAP_DAYS, type TickerPrices } from "../contract/market/ticker-series.ts";
import type { Warning } from "../contract/problems/warnings.ts";
import { lastPriceDay } from "./price-dates.ts";
import { MIN_DATE_TICKERS } from "./relative-target.ts";
import type { TickerPanel } from "./ticker-panel.ts";
import { OTHER_WINDOW, type ResolvedWindow } from "./window.ts";

/**
 * The date of the forecasts: the last price date of any ticker in the window, with or without features.
 * @throws MucastError `insufficient_history` if no ticker has a price in the window.
 */
export function asOf(prices: Iterable<TickerPrices>, window: ResolvedWindow): Day {
  const last = latest(Iterator.from(prices).map((ticker) => lastPriceDay(ticker, window)));
  if (last !== undefined) return last;
  throw new MucastError(
    "insufficient_history",
    `No ticker has a price between ${formatDay(window.start)} and ${formatDay(window.end)}`,
    { advice: OTHER_WINDOW },
  );
}

function latest(days: Iterable<Day | undefined>): Day | undefined {
  let last: Day | undefined;
  for (const day of days) if (day !== undefined && (last === undefined || day > last)) last = day;
  return last;
}

/** The members of a panel that decide whether its ticker has a `mu`. */
export type PanelDates = Pick<
  TickerPanel,
  "ticker" | "days" | "lastPriceDay" | "lastFeatureDay" | "lastRowDay"
>;

/** Returns only those members, so that the caller does not keep the features in memory. */
export function datesOf({ ticker, days, lastPriceDay, lastFeatureDay, lastRowDay }: PanelDates): PanelDates {
  return { ticker, days, lastPriceDay, lastFeatureDay, ...(lastRowDay === undefined ? {} : { lastRowDay }) };
}

/**
 * The row whose prediction is a ticker's `mu`, a forecast of a return that is not known yet: the ticker's last price date, at most
 * MAX_GAP_DAYS calendar days before `asOf`. Such a row has no label, so it is always a score row.
 * @returns the row, or the `stale_ticker` warning with the reason why there is none.
 */
export function muRow(panel: PanelDates, asOf: Day) {
  const { ticker, days } = panel;
  const { causes } = stalenessOf(panel, asOf);
  if (causes.length === 0) return { row: days.length - 1 };
  const message = `${ticker} has no mu at ${formatDay(asOf)}: its last row is ${formatDay(days.at(-1)!)}; ${causes.join("; ")}.`;
  return { warning: { code: "stale_ticker", ticker, message } satisfies Warning };
}

/** Why a ticker has no `mu`; no causes if it has one. */
function stalenessOf({ days, lastPriceDay, lastFeatureDay, lastRowDay }: PanelDates, asOf: Day) {
  const lastPrice = formatDay(lastPriceDay);
  const pricesEnd = asOf - lastPriceDay > MAX_GAP_DAYS;
  const featuresEnd = lastFeatureDay === undefined || lastFeatureDay < lastPriceDay;
  const isBehind = days.at(-1) !== lastPriceDay;
  // The row of the last price date is complete, and is missing only because there are too few tickers to compare it with.
  const lacksZScore = isBehind && lastRowDay === lastPriceDay;
  const causes: string[] = [];
  if (pricesEnd) causes.push(`its prices end on ${lastPrice}, more than ${MAX_GAP_DAYS} days before`);
  if (featuresEnd) {
    const end = lastFeatureDay === undefined ? "are absent" : `end on ${formatDay(lastFeatureDay)}`;
    causes.push(`its features ${end}, before its last price date ${lastPrice}`);
  } else if (lacksZScore) {
    causes.push(
      `on its last price date ${lastPrice} fewer than ${MIN_DATE_TICKERS} tickers have its features, so cross_section leaves out its row`,
    );
  } else if (isBehind) {
    causes.push(`it has no complete feature row on its last price date ${lastPrice}`);
  }
  return { pricesEnd, featuresEnd, lacksZScore, causes };
}

/**
 * The error of a job in which no ticker has a `mu`. The panels alone decide it, before anything is trained.
 * @param panels the tickers that could be fitted, at least one, in any order.
 */
export function noForecast(panels: readonly PanelDates[], asOf: Day): MucastError {
  const ascending = panels.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
  const stale = ascending.map((panel) => ({ ticker: panel.ticker, ...stalenessOf(panel, asOf) }));
  const early = (
    [
      ["feature_url", "the feature blob", "featuresEnd"],
      ["data_extractor_url", "the data-extraction blob", "pricesEnd"],
    ] as const
  )
    .map(([url, blob, ends]) => ({ url, blob, count: stale.filter((one) => one[ends]).length }))
    .filter(({ count }) => count > 0);
  const tooFew = stale.some(({ lacksZScore }) => lacksZScore)
    ? `, or fewer than ${MIN_DATE_TICKERS} tickers do, which cross_section needs`
    : "";
  const cause =
    early.length > 0
      ? `${early.map(({ blob, count }) => `${blob} ends early for ${count}`).join(", ")} of ${counted(panels.length, "ticker")}`
      : `neither blob ends early, but no ticker has a complete feature row on its last price date${tooFew}`;
  const lastFeature = latest(panels.map((panel) => panel.lastFeatureDay));
  const lastPrice = formatDay(latest(panels.map((panel) => panel.lastPriceDay))!);
  const lastFeatureDate = lastFeature === undefined ? null : formatDay(lastFeature);
  return new MucastError(
    "no_forecast",
    `No ticker has a mu at ${formatDay(asOf)}: ${cause}. The features end on ${lastFeatureDate ?? "no date"}, ` +
      `the prices of the same tickers on ${lastPrice}`,
    {
      advice: early.length > 0 ? undefined : "Give the last price date values of all features.",
      as_of: formatDay(asOf),
      ends_early: early.map(({ url }) => url),
      last_feature_date: lastFeatureDate,
      last_price_date: lastPrice,
      failures: stale.map(({ ticker, causes }) => ({
        ...{ ticker, code: "stale_ticker" },
        message: causes.join("; "),
      })),
    },
  );
}
