import type { ForecastView } from "../../../client/index.ts";
import { figure } from "../../../report/figures.ts";
import { element, fill } from "../../dom.ts";
import { errorBox } from "../../problem.ts";
import type { ViewContext } from "../../view.ts";
import { counted, textElement } from "../../words.ts";
import { candidateTable } from "./candidate-table.ts";
import type { Panel } from "./panel.ts";
import { verdictWords } from "./verdict-words.ts";

/** Maximum number of tickers in the table, those with the largest |mu|; the report has all. */
const MAX_TICKERS = 20;

type TickerForecast = ForecastView["forecasts"][number];

/** The forecasts of a job that succeeded: `mu` with its interval, and how good such forecasts were. */
export function forecastPanel({ client, signal }: ViewContext): Panel {
  const section = element("section", { hidden: true });
  return {
    element: section,
    show: ({ operation: { id, operation, result } }) => {
      if (result === null || operation === "audit" || operation === "replay" || !section.hidden) return;
      section.hidden = false;
      fill(
        section,
        element("h2", {}, "Forecast"),
        element("p", { class: "hint" }, "Reading the output\u2026"),
      );
      client.getForecast(id, { limit: MAX_TICKERS, signal }).then(
        (view) => fill(section, element("h2", {}, "Forecast"), verdictOf(view), ...forecastOf(view)),
        (error: unknown) => {
          if (!signal.aborted) fill(section, element("h2", {}, "Forecast"), errorBox(error));
        },
      );
    },
  };
}

/** What a reader needs to know before the numbers of the table. */
function verdictOf({ verdict }: ForecastView): HTMLElement | false {
  if (verdict === undefined) return false;
  const [title, rest] = verdictWords(verdict);
  return element(
    "p",
    {},
    element(
      "strong",
      { class: Object.hasOwn(TONES, verdict.state) ? TONES[verdict.state]! : "" },
      textElement(title),
    ),
    " ",
    textElement(rest),
  );
}

/** The class of each state: only skill with correct sizes is good. */
const TONES: Readonly<Record<string, string>> = {
  skill: "good",
  oversized: "",
  none: "failed",
  worse: "failed",
  too_few: "",
} satisfies Record<NonNullable<ForecastView["verdict"]>["state"], string>;

function forecastOf(view: ForecastView): HTMLElement[] {
  const { forecasts, count, window, metrics, intervals, refits, choice } = view;
  const { pooled, cross_section } = metrics.score;
  const words =
    count === 0
      ? "The output has no forecast."
      : `Next-day log-returns (mu) of ${counted(count, "ticker")} as of ${window.as_of}${forecasts.length < count ? `. The table shows the ${forecasts.length} largest by absolute value` : ""}.`;
  const skill = `On ${counted(pooled.n, "row")} that the models did not learn from: R² against zero ${figure(pooled.r2_zero, "r2")}, hit rate ${figure(pooled.hit_rate, "share")} (up days ${figure(pooled.up_share, "share")}), mean IC ${figure(cross_section.ic_mean, "ic")}.`;
  if (forecasts.length === 0) return [element("p", {}, words)];
  const hasIntervals = forecasts.some(({ interval }) => interval !== undefined);
  const head = [
    "Ticker",
    "mu",
    ...(hasIntervals ? [`${intervals === null ? "Interval" : `${levelOf(intervals.alpha)} interval`}`] : []),
    "R² against zero",
    "Hit rate",
    ...(intervals === null ? [] : ["Coverage"]),
  ];
  return [
    element("p", {}, words),
    element("p", {}, skill),
    ...(refits === undefined ? [] : [element("p", {}, refitsOf(refits))]),
    element(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Forecasts" },
      element(
        "table",
        { class: "numbers" },
        element("thead", {}, element("tr", {}, ...head.map((each) => element("th", { scope: "col" }, each)))),
        element(
          "tbody",
          {},
          ...forecasts.map((forecast) => rowOf(forecast, window.as_of, hasIntervals, intervals !== null)),
        ),
      ),
    ),
    ...(choice === undefined ? [] : candidateTable(choice)),
  ];
}

function refitsOf({ count, last }: NonNullable<ForecastView["refits"]>): string {
  return `Models were refitted ${counted(count, "time")} over these rows, last on ${last}.`;
}

/** `90 %` for an alpha of 0.1. */
function levelOf(alpha: number): string {
  return `${Number((100 * (1 - alpha)).toPrecision(6))} %`;
}

function rowOf(
  { ticker, mu, mu_date, interval, metrics, coverage }: TickerForecast,
  asOf: string,
  hasIntervals: boolean,
  hasCoverage: boolean,
): HTMLElement {
  const older = mu_date !== undefined && mu_date !== asOf ? ` (as of ${mu_date})` : "";
  const ends =
    interval === undefined ? "\u2013" : `${figure(interval.lower, "mu")} to ${figure(interval.upper, "mu")}`;
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, textElement(ticker, 40)),
    element("td", {}, figure(mu, "mu"), older),
    hasIntervals && element("td", {}, ends),
    element("td", {}, figure(metrics?.r2_zero, "r2")),
    element("td", {}, figure(metrics?.hit_rate, "share")),
    hasCoverage && element("td", {}, figure(coverage?.coverage, "coverage")),
  );
}
