import type { VNode } from "preact";
import type { ForecastView, OperationView } from "../../client/index.ts";
import { shortVisibleText } from "../../contract/visible-text.ts";
import { countedRows, figure, muRange, NO_FIGURE, type Unit } from "../../view/figures.ts";
import { h, html } from "../../view/html.ts";
import { bar } from "../../view/marks.ts";
import { table } from "../../view/table.ts";
import { bdi } from "../../view/text.ts";
import { Loaded, useView } from "../view.ts";
import { runAnswers } from "./answers.ts";
import { qualityTable } from "./quality.ts";

/** Maximum number of tickers in the table, those with the largest |mu|; the report has all. */
const MAX_TICKERS = 20;

/** What a job that succeeded has found: the answers of the first screen, then `mu` by ticker, and how good such forecasts were. */
export function Forecast({ operation }: { readonly operation: OperationView }): VNode {
  const { client, signal } = useView();
  return html`<section class="forecast">
    ${h(Loaded<ForecastView>, {
      read: () => client.getForecast(operation.id, { limit: MAX_TICKERS, signal }),
      show: (view) => html`${runAnswers(view, operation)}
        ${
          view.forecasts.length > 0 &&
          html`<h2>${view.forecasts.length < view.count ? `The ${view.forecasts.length} largest forecasts` : "Forecasts"}</h2>
            <div class="beside-table">
          <div>${forecastTable(view)}</div>
          <div>${qualityTable(view)}${view.choice && html`<h3>Choice</h3><p>${choiceWords(view.choice)}</p>`}</div>
        </div>`
        }`,
    })}
  </section>`;
}

type TickerForecast = ForecastView["forecasts"][number];

/** How good the forecasts of a ticker were on its score rows; one that no ticker has, as without score rows, has no column. */
const QUALITIES: readonly (readonly [
  title: string,
  unit: Unit,
  value: (forecast: TickerForecast) => number | null | undefined,
])[] = [
  ["R² against zero", "r2", ({ metrics }) => metrics?.r2_zero],
  ["Hit rate", "coverage", ({ metrics }) => metrics?.hit_rate],
  ["Coverage", "coverage", ({ coverage }) => coverage?.coverage],
];

function forecastTable({ forecasts, window, intervals }: ForecastView): VNode {
  const low = Math.min(0, ...forecasts.map(({ mu }) => mu));
  const high = Math.max(0, ...forecasts.map(({ mu }) => mu));
  return table<TickerForecast>({
    name: "Forecasts",
    kind: "numbers cards forecasts",
    columns: [
      { title: "Ticker", cell: ({ ticker }) => bdi(ticker, 40) },
      {
        title: "mu",
        kind: "mu",
        cell: ({ mu, mu_date }) => {
          const older = mu_date !== undefined && mu_date !== window.as_of ? ` (as of ${mu_date})` : "";
          return html`${bar(mu, low, high)}<span>${figure(mu, "mu")}${older}</span>`;
        },
      },
      intervals !== null && {
        title: `${Number((100 * (1 - intervals.alpha)).toPrecision(6))}\u202f% interval`,
        kind: "interval",
        cell: ({ interval }) =>
          interval === undefined ? NO_FIGURE : muRange(interval.lower, interval.upper),
      },
      ...QUALITIES.filter(([, , value]) => forecasts.some((each) => value(each) != null)),
    ],
    rows: forecasts,
  });
}

/** What choosing among candidates was worth; the report has them all. */
function choiceWords({
  candidates,
  count,
  honest,
  best,
  measure,
}: NonNullable<ForecastView["choice"]>): string {
  const [key, name] = measure === "ic" ? (["ic", "a mean IC of"] as const) : (["r2", "an R² of"] as const);
  const found = candidates.find(({ number }) => number === best);
  const claimed = figure(found?.[key], key);
  return `Chosen among ${countedRows(count, "candidate")}. Candidate ${best}${found === undefined ? "" : `, ${shortVisibleText(found.label, 80)},`} is the best in hindsight: it has ${name} ${claimed} on its held-out rows, the forecasts chosen in advance ${figure(honest[key], key)}. The report shows every candidate.`;
}
