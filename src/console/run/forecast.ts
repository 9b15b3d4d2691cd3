import type { VNode } from "preact";
import type { ForecastView, OperationView } from "../../client/index.ts";
import { countedRows, figure, muRange, NO_FIGURE, type Unit } from "../../view/figures.ts";
import { h, html } from "../../view/html.ts";
import { bar } from "../../view/marks.ts";
import { type Column, table } from "../../view/table.ts";
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
          <div>${view.choice && candidateTable(view.choice)}${qualityTable(view)}</div>
        </div>`
        }`,
    })}
  </section>`;
}

type TickerForecast = ForecastView["forecasts"][number];

/** How good the forecasts of a ticker were on its score rows. */
const QUALITIES: readonly (readonly [
  title: string,
  unit: Unit,
  value: (forecast: TickerForecast) => number | null | undefined,
])[] = [
  ["R² against zero", "r2", ({ metrics }) => metrics?.r2_zero],
  ["Hit rate", "coverage", ({ metrics }) => metrics?.hit_rate],
  ["Coverage", "coverage", ({ coverage }) => coverage?.coverage],
];

/** A quality that no ticker has, as without score rows, has no column. */
function forecastTable({ forecasts, window, intervals }: ForecastView): VNode {
  const low = Math.min(0, ...forecasts.map(({ mu }) => mu));
  const high = Math.max(0, ...forecasts.map(({ mu }) => mu));
  const level = intervals && `${Number((100 * (1 - intervals.alpha)).toPrecision(6))}\u202f% interval`;
  const columns: readonly Column<TickerForecast>[] = [
    { title: "Ticker", cell: ({ ticker }) => bdi(ticker, 40) },
    {
      title: "mu",
      kind: "mu",
      cell: ({ mu, mu_date }) => {
        const older = mu_date !== undefined && mu_date !== window.as_of ? ` (as of ${mu_date})` : "";
        return html`${bar(mu, low, high)}<span>${figure(mu, "mu")}${older}</span>`;
      },
    },
    ...(level === null
      ? []
      : [
          {
            title: level,
            kind: "interval",
            cell: ({ interval }: TickerForecast) =>
              interval === undefined ? NO_FIGURE : muRange(interval.lower, interval.upper),
          },
        ]),
    ...QUALITIES.filter(([, , value]) => forecasts.some((each) => value(each) != null)).map(
      ([title, unit, value]) => ({
        title,
        cell: (forecast: TickerForecast) => figure(value(forecast), unit),
      }),
    ),
  ];
  return table({ name: "Forecasts", kind: "numbers cards forecasts", columns, rows: forecasts });
}

type Choice = NonNullable<ForecastView["choice"]>;
type Candidate = Choice["candidates"][number];

/** The candidates of a choice, and what choosing among them was worth. A column whose values are all the same may be left out. */
function candidateTable({ candidates, count, honest, best, measure }: Choice): VNode {
  const [key, name] = measure === "ic" ? (["ic", "a mean IC of"] as const) : (["r2", "an R² of"] as const);
  const figures: readonly (readonly [
    title: string,
    unit: Unit,
    value: (candidate: Candidate) => number | null | undefined,
    isSpare?: true,
  ])[] = [
    ["R², held out", "r2", ({ r2 }) => r2],
    ["IC, held out", "ic", ({ ic }) => ic ?? null, true],
    ["Gain", key, ({ gain }) => gain],
    ["t of the gain", "t", ({ gain_t }) => gain_t],
    ["Tickers", "count", ({ tickers }) => tickers, true],
  ];
  const claimed = candidates.find(({ number }) => number === best)?.[key];
  const unit = measure === "ic" ? "" : ", in units of the mean squared return of the first training rows";
  const shown =
    count > candidates.length ? ` The table shows the ${candidates.length} with the largest gains.` : "";
  return html`<h3>Candidates</h3>
    <p>Chosen among ${countedRows(count, "candidate")}. Candidate ${best}, the best in hindsight, has ${name}
      ${" "}${figure(claimed, key)} on its held-out rows, the forecasts chosen in advance ${figure(honest[key], key)}.
      ${" "}Gains are over candidate 0${unit}.${shown}</p>
    ${table<Candidate>({
      name: "Candidates",
      kind: "numbers cards",
      columns: [
        {
          title: "Candidate",
          cell: ({ number, label, member }) =>
            html`${number} ${bdi(label, 80)}${member && html`<span class="detail"> member</span>`}`,
        },
        ...figures
          .filter(([, , value, isSpare]) => !isSpare || new Set(candidates.map(value)).size > 1)
          .map(([title, of, value]) => ({
            title,
            cell: (candidate: Candidate) => figure(value(candidate), of),
          })),
      ],
      rows: candidates,
    })}`;
}
