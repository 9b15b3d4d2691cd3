import type { ForecastView } from "../../../client/index.ts";
import { returnsText } from "../../../contract/output/later-close.ts";
import { smallFactorSentences } from "../../../contract/output/small-factor.ts";
import { element, fill } from "../../dom.ts";
import { errorBox } from "../../problem.ts";
import type { ViewContext } from "../../view.ts";
import { counted, textElement } from "../../words.ts";
import { candidateTable } from "./candidate-table.ts";
import { forecastTable } from "./forecast-table.ts";
import type { Panel } from "./panel.ts";
import { qualityTable } from "./quality-table.ts";
import { plainVerdict, verdictWords } from "./verdict-words.ts";

/** Maximum number of tickers in the table, those with the largest |mu|; the report has all. */
const MAX_TICKERS = 20;

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
        (view) => fill(section, element("h2", {}, "Forecast"), ...verdictOf(view), ...forecastOf(view)),
        (error: unknown) => {
          if (!signal.aborted) fill(section, element("h2", {}, "Forecast"), errorBox(error));
        },
      );
    },
  };
}

/** What a reader needs to know before the numbers of the table, and its statistics on demand. */
function verdictOf({ verdict, refits }: ForecastView): HTMLElement[] {
  if (verdict === undefined) return [];
  const [title, statistics] = verdictWords(verdict);
  const plain = plainVerdict(verdict);
  const tone = Object.hasOwn(TONES, verdict.state) ? TONES[verdict.state]! : "";
  const headline = element("strong", { class: tone }, textElement(title));
  const later = verdict.later === undefined ? [] : [element("p", {}, textElement(verdict.later, 400))];
  if (plain === undefined) return [element("p", {}, headline, " ", textElement(statistics)), ...later];
  return [
    element("p", {}, headline, ` ${plain}`),
    ...later,
    element(
      "details",
      { class: "statistics" },
      element("summary", {}, "Show the statistics"),
      element("p", {}, textElement(title), " ", textElement(statistics)),
      refits !== undefined && element("p", {}, refitsOf(refits)),
    ),
  ];
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
  const { forecasts, count, window, choice } = view;
  const returns = returnsText(window.delay);
  const words =
    count === 0
      ? "The output has no forecast."
      : areZero(view)
        ? `The ${returns} (mu) of ${counted(count, "ticker")} as of ${window.as_of} are all 0.${smallFactor(view)}${forecasts.length < count ? ` The table shows ${forecasts.length} of them.` : ""}`
        : `${returns[0]!.toUpperCase()}${returns.slice(1)} (mu) of ${counted(count, "ticker")} as of ${window.as_of}${forecasts.length < count ? `. The table shows the ${forecasts.length} largest by absolute value` : ""}.${smallFactor(view)}`;
  if (forecasts.length === 0) return [element("p", {}, words)];
  return [
    element("p", {}, words),
    element(
      "div",
      { class: "beside-table" },
      element("div", {}, ...forecastTable(view)),
      element("div", {}, ...(choice === undefined ? [] : candidateTable(choice)), ...qualityTable(view)),
    ),
  ];
}

/** Whether all forecasts are 0: the first one is the largest. */
function areZero({ forecasts }: ForecastView): boolean {
  return forecasts.length > 0 && forecasts.every(({ mu }) => mu === 0);
}

function smallFactor({ forecasts, verdict, metrics }: ForecastView): string {
  const slope = metrics.shrinkage_by_date ?? metrics.shrinkage;
  if (slope === undefined) return "";
  const factors = forecasts.map(({ factor = 1 }) => factor);
  const hasModel = forecasts.some(({ mu_model }) => mu_model !== undefined);
  const words = smallFactorSentences({ factors, slope, hasModel, verdict });
  return words === undefined ? "" : ` ${words}`;
}

function refitsOf({ count, last }: NonNullable<ForecastView["refits"]>): string {
  return `Models were refitted ${counted(count, "time")} over these rows, last on ${last}.`;
}
