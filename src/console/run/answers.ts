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
import { html } from "../../view/html.ts";
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
  const { verdict, metrics, intervals } = view;
  const judged = verdict?.judged.find(({ rows }) => rows === verdict.rows);
  const orders = (verdict?.rows === "out_of_fold" ? metrics.out_of_fold : metrics.score)?.by_delay;
  const [order, later] = [laterOrder(orders), laterFigures(orders)];
  const ic = judged && verdictFigures(judged).ic;
  const skill: readonly Figure[] = [
    {
      name: "IC",
      unit: "ic",
      value: ic,
      band: judged && bandFromT(ic ?? null, judged.order.t, judged.order.quantile),
    },
    {
      name: `IC ${closeName(later?.delay ?? 1)}`,
      unit: "ic",
      value: later?.ic,
      band: order && orderBands(order).order,
    },
  ];
  const net: Figure = {
    name: "Net of 5 bp a side, a day",
    unit: "mu",
    value: later?.net_5bp == null ? null : later.net_5bp / 1e4,
    band:
      later?.net_low == null || later.net_high == null
        ? null
        : { low: later.net_low / 1e4, high: later.net_high / 1e4 },
  };
  const tested = judged?.intervals;
  const coverage = judged?.rows === "score" ? intervals?.pooled.coverage : tested?.figure;
  const asked = 1 - (intervals?.alpha ?? 0);
  const gap = tested && coverage != null ? bandFromT(coverage - asked, tested.t, tested.quantile) : null;
  const covered: Figure = {
    name: `Coverage (nominal ${figure(asked, "coverage")})`,
    unit: "coverage",
    value: coverage,
    band: gap && { low: asked + gap.low, high: asked + gap.high },
    reference: asked,
  };
  const believed =
    intervals === null
      ? "The job had none, so mu has no range. Set “intervals” in the config."
      : ownOf(INTERVAL_WORDS, tested?.state ?? "too_few");
  return html`<dl class="answers">
    ${answer("Forecast", forecastWords(view, run))}
    ${verdict && answer("Skill", skillWords(view), skill)}
    ${later?.net_5bp != null && answer("After costs", costWords(closeName(later.delay), net), [net])}
    ${answer("Intervals", html`<p>${believed}</p>`, intervals === null ? [] : [covered])}
    ${answer("Next", html`<p>${nextStep(verdict, later)}</p>`)}
  </dl>`;
}

/** A figure of an answer with its 90 % band. */
interface Figure {
  readonly name: string;
  readonly unit: Unit;
  readonly value: number | null | undefined;
  readonly band: { readonly low: number; readonly high: number } | null | undefined;
  /** The value without skill; 0 by default. */
  readonly reference?: number;
}

/** @param figures on one scale. */
function answer(question: string, sentences: VNode, figures: readonly Figure[] = []): VNode {
  const within = figures.flatMap(({ value, band }) => [value ?? 0, ...(band ? [band.low, band.high] : [])]);
  const lines = figures.map(({ name, unit, value, band, reference = 0 }) => {
    if (value == null) return undefined;
    const range = band && (unit === "mu" ? muRange(band.low, band.high) : bandFigure(band, unit));
    return html`<dd class="figure"><span class="name">${name}</span> ${figure(value, unit)}
      ${range && html`<span class="detail">90 % band ${range}</span>`}
      ${strip({ value, ...band, reference }, figures.length > 1 ? within : [])}</dd>`;
  });
  return html`<div><dt>${question}</dt><dd>${sentences}</dd>${lines}</div>`;
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

function costWords(when: string, { value, band }: Figure): VNode {
  const found =
    band == null
      ? "has too few dates to tell what is left after costs."
      : band.low > 0
        ? "earned its costs."
        : band.high < 0
          ? "lost to costs of 5 bp a side."
          : `${value! < 0 ? "lost" : "earned"} a little after costs, or nothing: the band contains 0.`;
  return html`<p>Traded ${when}, the top fifth minus the bottom fifth ${found}</p>`;
}
