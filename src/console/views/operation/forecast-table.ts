import type { ForecastView } from "../../../client/index.ts";
import { figure, muRange, NO_FIGURE, type Unit } from "../../../view/figures.ts";
import { element } from "../../dom.ts";
import { textElement } from "../../words.ts";
import { type BarScale, intervalBar, scaleOf } from "./interval-bar.ts";

type TickerForecast = ForecastView["forecasts"][number];

/** How good the forecasts of a ticker were on its score rows. */
const QUALITIES: readonly {
  readonly title: string;
  readonly unit: Unit;
  value(forecast: TickerForecast): number | null | undefined;
}[] = [
  { title: "R² against zero", unit: "r2", value: ({ metrics }) => metrics?.r2_zero },
  { title: "Hit rate", unit: "coverage", value: ({ metrics }) => metrics?.hit_rate },
  { title: "Coverage", unit: "coverage", value: ({ coverage }) => coverage?.coverage },
];

/**
 * The forecast of each ticker: `mu`, its interval as a bar and as text, and how good such forecasts were. A quality that no ticker has, as
 * without score rows, has no column.
 */
export function forecastTable({ forecasts, window, intervals }: ForecastView): HTMLElement[] {
  const scale = forecasts.some(({ interval }) => interval !== undefined) ? scaleOf(forecasts) : undefined;
  const qualities = QUALITIES.filter(({ value }) => forecasts.some((each) => isKnown(value(each))));
  const columns = [
    "mu",
    ...(scale === undefined
      ? []
      : [intervals === null ? "Interval" : `${levelOf(intervals.alpha)} interval`]),
    ...qualities.map(({ title }) => title),
  ];
  return [
    element(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Forecasts" },
      element(
        "table",
        { class: "numbers cards forecasts" },
        element(
          "thead",
          {},
          element("tr", {}, ...["Ticker", ...columns].map((each) => element("th", { scope: "col" }, each))),
        ),
        element(
          "tbody",
          {},
          ...forecasts.map((forecast) => rowOf(forecast, { columns, qualities, scale, asOf: window.as_of })),
        ),
      ),
    ),
    ...(scale === undefined
      ? []
      : [
          element(
            "p",
            { class: "hint" },
            `All bars have one scale, ${muRange(scale.low, scale.high)}. The thin line is zero, the mark is mu.`,
          ),
        ]),
  ];
}

function isKnown(value: number | null | undefined): boolean {
  return value !== null && value !== undefined;
}

/** `90\u202f%` for an alpha of 0.1. */
function levelOf(alpha: number): string {
  return `${Number((100 * (1 - alpha)).toPrecision(6))}\u202f%`;
}

interface TableParts {
  readonly columns: readonly string[];
  readonly qualities: typeof QUALITIES;
  /** Undefined if no forecast has an interval. */
  readonly scale: BarScale | undefined;
  readonly asOf: string;
}

function rowOf(forecast: TickerForecast, { columns, qualities, scale, asOf }: TableParts): HTMLElement {
  const { ticker, mu, mu_date } = forecast;
  const older = mu_date !== undefined && mu_date !== asOf ? ` (as of ${mu_date})` : "";
  const cells = [
    [figure(mu, "mu"), older],
    ...(scale === undefined ? [] : [intervalOf(forecast, scale)]),
    ...qualities.map(({ unit, value }) => [figure(value(forecast), unit)]),
  ];
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, textElement(ticker, 40)),
    ...columns.map((name, i) =>
      element(
        "td",
        { "data-title": name, class: i === 0 ? "mu" : name.endsWith("nterval") ? "interval" : undefined },
        ...cells[i]!,
      ),
    ),
  );
}

function intervalOf(forecast: TickerForecast, scale: BarScale): (string | Element)[] {
  const { interval } = forecast;
  return [
    intervalBar(scale, forecast),
    element("span", {}, interval === undefined ? NO_FIGURE : muRange(interval.lower, interval.upper)),
  ];
}
