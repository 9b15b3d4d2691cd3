import type { VNode } from "preact";
import type { ForecastView, OperationView } from "../../client/index.ts";
import { returnsText, verdictFigures } from "../../contract/output/later-close.ts";
import { rankingOf, smallFactorSentences } from "../../contract/output/small-factor.ts";
import { shortVisibleText } from "../../contract/visible-text.ts";
import { answers } from "../../view/answers.ts";
import { countedRows, figure, muRange, NO_FIGURE, type Unit } from "../../view/figures.ts";
import { h, html } from "../../view/html.ts";
import { bar } from "../../view/marks.ts";
import { table } from "../../view/table.ts";
import { bdi } from "../../view/text.ts";
import { dataName } from "../list/run-columns.ts";
import { Loaded, useView } from "../view.ts";
import { modelOf, ownOf } from "../words.ts";

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

/** Only skill with correct sizes is good, and missing evidence is no fault. */
const TONES: Readonly<Record<string, string>> = { skill: "good", worse: "failed" };

function runAnswers(view: ForecastView, run: OperationView): VNode {
  const { verdict, metrics, intervals } = view;
  const judged = verdict?.judged.find(({ rows }) => rows === verdict.rows);
  return answers({
    forecast: forecastWords(view, run),
    skill: verdict && skillWords(view),
    verdict,
    judged,
    orders: (verdict?.rows === "out_of_fold" ? metrics.out_of_fold : metrics.score)?.by_delay,
    alpha: intervals?.alpha ?? null,
    coverage: judged?.rows === "score" ? intervals?.pooled.coverage : judged?.intervals?.figure,
    ranking: rankingOf(...factorsOf(view)),
  });
}

function forecastWords(view: ForecastView, run: OperationView): VNode {
  const { forecasts, count, window } = view;
  if (count === 0) return html`<p>The output has no forecast.</p>`;
  const returns = returnsText(window.delay);
  const what = `(mu) of ${countedRows(count, "ticker")} as of ${window.as_of}`;
  const by = html`, by ${bdi(modelOf(run) ?? "the model", 60)} on ${bdi(dataName(run), 80)}`;
  const areZero = forecasts.length > 0 && forecasts.every(({ mu }) => mu === 0);
  const words = areZero
    ? `The ${returns} ${what} are all 0`
    : `${returns[0]!.toUpperCase()}${returns.slice(1)} ${what}`;
  return html`<p>${words}${areZero ? "" : by}.${smallFactor(view)}</p>`;
}

function smallFactor(view: ForecastView): string {
  const { verdict, metrics } = view;
  const slope = metrics.shrinkage_by_date ?? metrics.shrinkage;
  if (slope === undefined) return "";
  const [factors, hasModel] = factorsOf(view);
  const words = smallFactorSentences({ factors, slope, hasModel, verdict });
  return words === undefined ? "" : ` ${words}`;
}

function factorsOf({ forecasts }: ForecastView): [number[], boolean] {
  return [
    forecasts.map(({ factor = 1 }) => factor),
    forecasts.some(({ mu_model }) => mu_model !== undefined),
  ];
}

function skillWords({ verdict, refits }: ForecastView): VNode {
  const [title, statistics] = verdictWords(verdict!);
  const plain = plainVerdict(verdict!);
  const headline = html`<strong class=${ownOf(TONES, verdict!.state) ?? ""}>${bdi(title)}</strong>`;
  if (plain === undefined) return html`<p>${headline} ${bdi(statistics)}</p>`;
  return html`<p>${headline} ${plain}</p>
    <details class="statistics"><summary>Show the statistics</summary>
      <p>${bdi(title)} ${bdi(statistics)}</p>
      ${verdict!.later !== undefined && html`<p>${bdi(verdict!.later, 400)}</p>`}
      ${refits !== undefined && html`<p>Models were refitted ${countedRows(refits.count, "time")} over these rows, last on ${refits.last}.</p>`}
    </details>`;
}

type Verdict = NonNullable<ForecastView["verdict"]>;

/** A verdict on two sets of rows with intervals has about a thousand characters. */
const MAX_CHARACTERS = 1_500;

/** The headline of a verdict, and the rest of its sentence. */
export function verdictWords({ title, sentence }: Verdict): readonly [title: string, rest: string] {
  const rest = sentence.startsWith(title) ? sentence.slice(title.length).trimStart() : sentence;
  return [shortVisibleText(title, 60), shortVisibleText(rest, MAX_CHARACTERS)];
}

/** What each state means, without statistics: the end of a sentence. */
const MEANINGS: Readonly<Record<string, string>> = {
  skill: "the forecasts are better than chance, and no worse than a forecast of zero",
  oversized:
    "the forecasts are better than chance, but their sizes are too large: a forecast of zero has smaller errors",
  none: "nothing shows that the forecasts are better than chance",
  worse: "a forecast of zero would have been better",
  too_few: "skill cannot be told from luck",
} satisfies Record<Verdict["state"], string>;

/** Sets of rows that the models did not learn from. */
const SETS = {
  score: "Score rows",
  out_of_fold: "Out-of-fold rows",
  calibration: "Calibration rows",
  validation: "Validation rows",
} satisfies Record<Verdict["rows"], string>;

/** The plain sentence that follows the title of a verdict; undefined for a state or rows of a later service. */
export function plainVerdict({ state, rows, judged }: Verdict): string | undefined {
  if (!Object.hasOwn(MEANINGS, state) || !Object.hasOwn(SETS, rows)) return undefined;
  const order = judged.find((set) => set.rows === rows)?.order.state;
  const meaning =
    state === "worse" && order === "worse"
      ? "returns tend to be lower where the forecasts are higher"
      : MEANINGS[state];
  return `on the ${SETS[rows].toLowerCase()}: ${meaning}.`;
}

type QualityFigure = readonly [name: string, unit: Unit, value: number | null | undefined];

type Quality = Pick<ForecastView, "metrics" | "intervals" | "verdict">;

/** Of the held-out rows of networks, the output has only the verdict; outputs of old versions have none. */
function figuresOn(
  rows: keyof typeof SETS,
  { metrics, intervals, verdict }: Quality,
): readonly QualityFigure[] {
  const judged = verdict?.judged.find((set) => set.rows === rows);
  const quality = rows === "score" || rows === "out_of_fold" ? metrics[rows] : undefined;
  if (judged === undefined && !quality?.pooled.n) return [];
  const { ic, r2 } = judged === undefined ? {} : verdictFigures(judged);
  const hasRankIc = judged?.order.form === "cross_section";
  return [
    ["Rows", "count", quality?.pooled.n],
    ["R²", "r2", r2],
    ["R² against the training mean", "r2", judged?.sizes.against.mean.r2],
    ["IC", "ic", ic],
    ["RankIC", "ic", hasRankIc ? quality?.cross_section.rank_ic_mean : undefined],
    ["IC beyond beta, volatility and past returns", "ic", quality?.exposures?.residual.ic_mean],
    ["Hit rate", "coverage", quality?.pooled.hit_rate],
    ["Up days", "coverage", quality?.pooled.up_share],
    ["Coverage", "coverage", rows === "score" ? intervals?.pooled.coverage : judged?.intervals?.figure],
  ];
}

/** The figures of the forecasts of all tickers, by set of rows; a figure that no set has is left out. */
export function qualityFigures(view: Quality) {
  const sets = Object.entries(SETS).flatMap(([rows, name]) => {
    const figures = figuresOn(rows as keyof typeof SETS, view);
    return figures.length === 0 ? [] : [{ name, figures }];
  });
  const rows = (sets[0]?.figures ?? []).flatMap(([name, unit], i) => {
    const values = sets.map(({ figures }) => figures[i]![2]);
    return values.every((value) => value == null)
      ? []
      : [{ name, values: values.map((value) => figure(value, unit)) }];
  });
  return { columns: sets.map(({ name }) => name), rows };
}

/** How good the forecasts of all tickers were, on each set of rows that the models did not learn from. */
function qualityTable(view: ForecastView): VNode | undefined {
  const { columns, rows } = qualityFigures(view);
  if (columns.length === 0) return undefined;
  return html`<h3>Quality</h3>
    <p>On rows that the models did not learn from, all tickers together. R² is against a forecast of zero and gives each ticker the
      same weight. The IC needs five tickers on a date.</p>
    ${table<(typeof rows)[number]>({
      name: "Quality",
      columns: [
        ["Figure", "text", ({ name }) => name],
        ...columns.map((title, i) => ({ title, cell: ({ values }: (typeof rows)[number]) => values[i] })),
      ],
      rows,
    })}`;
}
