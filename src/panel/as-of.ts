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
  let last: Day | undefined;
  for (const ticker of prices) {
    const day = lastPriceDay(ticker, window);
    if (day !== undefined && (last === undefined || day > last)) last = day;
  }
  if (last !== undefined) return last;
  throw new MucastError(
    "insufficient_history",
    `No ticker has a price between ${formatDay(window.start)} and ${formatDay(window.end)}`,
    { advice: OTHER_WINDOW },
  );
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

/** The row whose prediction is a ticker's `mu`, or the `stale_ticker` warning with the reason why there is none. */
type MuRow =
  | { readonly row: number; readonly warning?: undefined }
  | { readonly row?: undefined; readonly warning: Warning };

/**
 * `mu` is a forecast of a return that is not known yet: the row must be the ticker's last price date, at most MAX_GAP_DAYS calendar days
 * before `asOf`. Such a row has no label, so it is always a score row.
 */
export function muRow(panel: PanelDates, asOf: Day): MuRow {
  const causes = staleCauses(panel, asOf);
  if (causes.length === 0) return { row: panel.days.length - 1 };
  return {
    warning: {
      code: "stale_ticker",
      ticker: panel.ticker,
      message: `${panel.ticker} has no mu at ${formatDay(asOf)}: its last row is ${formatDay(panel.days.at(-1)!)}; ${causes.join("; ")}.`,
    },
  };
}

function staleCauses(panel: PanelDates, asOf: Day): string[] {
  const causes: string[] = [];
  if (pricesEndEarly(panel, asOf)) {
    causes.push(`its prices end on ${formatDay(panel.lastPriceDay)}, more than ${MAX_GAP_DAYS} days before`);
  }
  if (featuresEndEarly(panel)) {
    const end =
      panel.lastFeatureDay === undefined ? "are absent" : `end on ${formatDay(panel.lastFeatureDay)}`;
    causes.push(`its features ${end}, before its last price date ${formatDay(panel.lastPriceDay)}`);
  } else if (lacksZScore(panel)) {
    causes.push(
      `on its last price date ${formatDay(panel.lastPriceDay)} fewer than ${MIN_DATE_TICKERS} tickers have its features, so cross_section leaves out its row`,
    );
  } else if (panel.days.at(-1)! !== panel.lastPriceDay) {
    causes.push(`it has no complete feature row on its last price date ${formatDay(panel.lastPriceDay)}`);
  }
  return causes;
}

function pricesEndEarly(panel: PanelDates, asOf: Day): boolean {
  return asOf - panel.lastPriceDay > MAX_GAP_DAYS;
}

/** Whether the row of the last price date is complete, and is missing only because there are too few tickers to compare it with. */
function lacksZScore({ days, lastPriceDay, lastRowDay }: PanelDates): boolean {
  return days.at(-1) !== lastPriceDay && lastRowDay === lastPriceDay;
}

function featuresEndEarly(panel: PanelDates): boolean {
  return panel.lastFeatureDay === undefined || panel.lastFeatureDay < panel.lastPriceDay;
}

/**
 * The error of a job in which no ticker has a `mu`. The panels alone decide it, before anything is trained.
 * @param panels the tickers that could be fitted, at least one, in any order.
 */
export function noForecast(panels: readonly PanelDates[], asOf: Day): MucastError {
  const byFeatures = panels.filter(featuresEndEarly).length;
  const byPrices = panels.filter((panel) => pricesEndEarly(panel, asOf)).length;
  const blobs = [
    ...(byFeatures > 0
      ? [{ blob: "feature_url", text: `the feature blob ends early for ${byFeatures}` }]
      : []),
    ...(byPrices > 0
      ? [{ blob: "data_extractor_url", text: `the data-extraction blob ends early for ${byPrices}` }]
      : []),
  ];
  const cause =
    blobs.length > 0
      ? `${blobs.map((entry) => entry.text).join(", ")} of ${counted(panels.length, "ticker")}`
      : `neither blob ends early, but no ticker has a complete feature row on its last price date${panels.some(lacksZScore) ? `, or fewer than ${MIN_DATE_TICKERS} tickers do, which cross_section needs` : ""}`;
  const lastFeature = latest(panels.map((panel) => panel.lastFeatureDay));
  const lastPrice = latest(panels.map((panel) => panel.lastPriceDay));
  return new MucastError(
    "no_forecast",
    `No ticker has a mu at ${formatDay(asOf)}: ${cause}. The features end on ${lastFeature ?? "no date"}, ` +
      `the prices of the same tickers on ${lastPrice}`,
    {
      advice: blobs.length > 0 ? undefined : "Give the last price date values of all features.",
      as_of: formatDay(asOf),
      ends_early: blobs.map((entry) => entry.blob),
      last_feature_date: lastFeature ?? null,
      last_price_date: lastPrice ?? null,
      failures: panels
        .toSorted((a, b) => compareCodePoints(a.ticker, b.ticker))
        .map((panel) => ({
          ticker: panel.ticker,
          code: "stale_ticker",
          message: staleCauses(panel, asOf).join("; "),
        })),
    },
  );
}

function latest(days: readonly (Day | undefined)[]): string | undefined {
  const known = days.filter((day) => day !== undefined);
  return known.length === 0 ? undefined : formatDay(known.reduce((a, b) => Math.max(a, b)));
}
