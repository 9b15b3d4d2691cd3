import type { VNode } from "preact";
import type { ForecastView, OperationView } from "../../client/index.ts";
import { returnsText } from "../../contract/output/later-close.ts";
import { smallFactorSentences } from "../../contract/output/small-factor.ts";
import { answers } from "../../view/answers.ts";
import { countedRows } from "../../view/figures.ts";
import { html } from "../../view/html.ts";
import { bdi } from "../../view/text.ts";
import { dataName } from "../list/run-columns.ts";
import { modelOf, ownOf } from "../words.ts";
import { plainVerdict, verdictWords } from "./verdict-words.ts";

/** The class of each state: only skill with correct sizes is good, and missing evidence is no fault. */
const TONES: Readonly<Record<string, string>> = { skill: "good", worse: "failed" };

/** The first screen of a run, as that of its report. */
export function runAnswers(view: ForecastView, run: OperationView): VNode {
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

function smallFactor({ forecasts, verdict, metrics }: ForecastView): string {
  const slope = metrics.shrinkage_by_date ?? metrics.shrinkage;
  if (slope === undefined) return "";
  const factors = forecasts.map(({ factor = 1 }) => factor);
  const hasModel = forecasts.some(({ mu_model }) => mu_model !== undefined);
  const words = smallFactorSentences({ factors, slope, hasModel, verdict });
  return words === undefined ? "" : ` ${words}`;
}

/** The verdict in one sentence, and its statistics on demand. */
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
