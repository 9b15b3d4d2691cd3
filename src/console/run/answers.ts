import type { VNode } from "preact";
import type { ForecastView, OperationView } from "../../client/index.ts";
import {
  closeName,
  laterFigures,
  laterOrder,
  orderBands,
  returnsText,
  verdictFigures,
} from "../../contract/output/later-close.ts";
import { nextStep } from "../../contract/output/next-step.ts";
import { smallFactorSentences } from "../../contract/output/small-factor.ts";
import { bandFromT } from "../../contract/output/test-quantile.ts";
import { bandFigure, countedRows, figure, muRange, type Unit } from "../../view/figures.ts";
import { type Child, html } from "../../view/html.ts";
import { strip } from "../../view/marks.ts";
import { bdi } from "../../view/text.ts";
import { dataName } from "../list/run-columns.ts";
import { modelOf, ownOf } from "../words.ts";
import { plainVerdict, verdictWords } from "./verdict-words.ts";

/** The class of each state: only skill with correct sizes is good, and missing evidence is no fault. */
const TONES: Readonly<Record<string, string>> = { skill: "good", worse: "failed" };

const INTERVAL_WORDS: Readonly<Record<string, string>> = {
  evidence: "They hold overall.",
  none: "They are too wide.",
  worse: "They are too narrow: do not rely on them.",
  too_few: "There are too few dates to tell whether they hold.",
};

/**
 * The first screen, as that of a report: what was forecast, whether it shows skill, what is left after costs, whether the intervals may be
 * believed, and what to do next.
 */
export function answers(view: ForecastView, run: OperationView): VNode {
  const { verdict, metrics } = view;
  const judged = verdict?.judged.find(({ rows }) => rows === verdict.rows);
  const orders = (verdict?.rows === "out_of_fold" ? metrics.out_of_fold : metrics.score)?.by_delay;
  const later = laterFigures(orders);
  const order = laterOrder(orders);
  const laterBand = order && orderBands(order).order;
  const ic = judged && verdictFigures(judged).ic;
  const band = judged && bandFromT(ic ?? null, judged.order.t, judged.order.quantile);
  const both = [
    ic ?? 0,
    later?.ic ?? 0,
    ...[band, laterBand].flatMap((each) => (each ? [each.low, each.high] : [])),
  ];
  return html`<dl class="answers">
    ${answer("Forecast", [html`<p>${forecastWords(view, run)}</p>`])}
    ${
      verdict !== undefined &&
      answer("Skill", skillWords(view), [
        ic != null && [
          "IC",
          html`${figure(ic, "ic")} ${within(band, "ic")}`,
          strip({ value: ic, ...band, reference: 0 }, both),
        ],
        later?.ic != null && [
          `IC ${closeName(later.delay)}`,
          html`${figure(later.ic, "ic")} ${within(laterBand, "ic")}`,
          strip({ value: later.ic, ...laterBand, reference: 0 }, both),
        ],
      ])
    }
    ${
      later?.net_5bp != null &&
      answer(
        "After costs",
        [html`<p>${costWords(later)}</p>`],
        [
          [
            "Net of 5 bp a side, a day",
            html`${basisPoints(later.net_5bp)} ${within(bandOf(later.net_low, later.net_high), "mu")}`,
            strip({ value: later.net_5bp / 1e4, ...bandOf(later.net_low, later.net_high), reference: 0 }),
          ],
        ],
      )
    }
    ${intervalAnswer(view)}
    ${answer("Next", [html`<p>${nextStep(verdict, later)}</p>`])}
  </dl>`;
}

type Figure = readonly [name: string, value: Child, strip: VNode];

function answer(question: string, sentences: Child, figures: readonly (Figure | false)[] = []): VNode {
  return html`<div><dt>${question}</dt><dd>${sentences}</dd>
    ${figures.map((each) => each && html`<dd class="figure"><span class="name">${each[0]}</span> ${each[1]}${each[2]}</dd>`)}</div>`;
}

function forecastWords(view: ForecastView, run: OperationView): Child {
  const { forecasts, count, window } = view;
  if (count === 0) return "The output has no forecast.";
  const returns = returnsText(window.delay);
  const what = `(mu) of ${countedRows(count, "ticker")} as of ${window.as_of}`;
  const by = html`, by ${bdi(modelOf(run) ?? "the model", 60)} on ${bdi(dataName(run), 80)}`;
  const areZero = forecasts.length > 0 && forecasts.every(({ mu }) => mu === 0);
  const words = areZero
    ? `The ${returns} ${what} are all 0`
    : `${returns[0]!.toUpperCase()}${returns.slice(1)} ${what}`;
  return html`${words}${areZero ? "" : by}.${smallFactor(view)}`;
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
function skillWords({ verdict, refits }: ForecastView): Child {
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

function costWords({
  delay,
  net_5bp,
  net_low,
  net_high,
}: NonNullable<ReturnType<typeof laterFigures>>): string {
  const when = `${closeName(delay)}, the top fifth minus the bottom fifth`;
  if ((net_low ?? 0) > 0) return `Traded ${when} earned its costs.`;
  if ((net_high ?? 0) < 0) return `Traded ${when} lost to costs of 5 bp a side.`;
  return `Traded ${when} ${net_5bp! < 0 ? "lost a little after costs, or" : "earned a little after costs, or"} nothing: the band contains 0.`;
}

function intervalAnswer({ intervals, verdict }: ForecastView): VNode {
  if (intervals === null)
    return answer("Intervals", [
      html`<p>The job had none, so mu has no range. Set “intervals” in the config.</p>`,
    ]);
  const judged = verdict?.judged.find(({ rows }) => rows === verdict.rows);
  const tested = judged?.intervals;
  const coverage = judged?.rows === "score" ? intervals.pooled.coverage : tested?.figure;
  const asked = 1 - intervals.alpha;
  const words = ownOf(INTERVAL_WORDS, tested?.state ?? "too_few") ?? "";
  if (coverage == null) return answer("Intervals", [html`<p>${words}</p>`]);
  const gap = tested && bandFromT(coverage - asked, tested.t, tested.quantile);
  const band = gap && { low: asked + gap.low, high: asked + gap.high };
  return answer(
    "Intervals",
    [html`<p>${words}</p>`],
    [
      [
        "Coverage",
        html`${figure(coverage, "coverage")} of ${figure(asked, "coverage")} ${within(band, "coverage")}`,
        strip({ value: coverage, ...band, reference: asked }),
      ],
    ],
  );
}

function within(
  band: { readonly low: number; readonly high: number } | null | undefined,
  unit: Unit,
): VNode | undefined {
  return band
    ? html`<span class="detail">90 % band ${unit === "mu" ? muRange(band.low, band.high) : bandFigure(band, unit)}</span>`
    : undefined;
}

function bandOf(low: number | null | undefined, high: number | null | undefined) {
  return low == null || high == null ? null : { low: low / 1e4, high: high / 1e4 };
}

function basisPoints(points: number): string {
  return figure(points / 1e4, "mu");
}
