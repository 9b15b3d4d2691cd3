import type { VNode } from "preact";
import {
  closeName,
  laterFigures,
  laterOrder,
  orderBands,
  verdictFigures,
} from "../contract/output/later-close.ts";
import type { DelayedOrder } from "../contract/output/metrics-schemas.ts";
import { nextStep } from "../contract/output/next-step.ts";
import { type Band, bandFromT } from "../contract/output/test-quantile.ts";
import type { RowsVerdict, Verdict } from "../contract/output/verdict.ts";
import { bandFigure, figure, type Unit } from "./figures.ts";
import { type Child, html } from "./html.ts";
import { strip } from "./marks.ts";

interface Answered {
  readonly forecast: Child;
  readonly skill: Child;
  readonly verdict: Pick<Verdict, "state"> | undefined;
  /** The findings on the rows of the verdict. */
  readonly judged: RowsVerdict | undefined;
  /** What the order of these rows is worth by the close of the trade. */
  readonly orders: readonly DelayedOrder[] | undefined;
  /** Such as ` on the score rows`, if these are not those of the verdict. */
  readonly ordersOn?: string;
  /** What ranks the tickers, `mu` by default. */
  readonly ranking?: string;
  /** Null without intervals. */
  readonly alpha: number | null;
  readonly coverage: number | null | undefined;
}

const INTERVAL_WORDS: Readonly<Record<string, string>> = {
  evidence: "They hold overall.",
  none: "They are too wide.",
  worse: "They are too narrow: do not rely on them.",
  too_few: "There are too few dates to tell whether they hold.",
};

export function answers(answered: Answered): VNode {
  const { forecast, skill, verdict, judged, orders, alpha, coverage, ranking } = answered;
  // Networks record no rows before the cut.
  const isHidden = judged?.rows === "calibration" || judged?.rows === "validation";
  const { ordersOn = isHidden ? " on the score rows" : "" } = answered;
  const [order, later] = [laterOrder(orders), laterFigures(orders)];
  const ic = judged && verdictFigures(judged).ic;
  const when = closeName(later?.delay ?? 1) + ordersOn;
  const net: Figure = {
    name: "Net of 5 bp a side, a day",
    unit: "mu",
    value: later?.net_5bp == null ? null : later.net_5bp / 1e4,
    band:
      later?.net_low == null || later.net_high == null
        ? null
        : { low: later.net_low / 1e4, high: later.net_high / 1e4 },
  };
  const nominal = 1 - (alpha ?? 0);
  const tested = judged?.intervals;
  const gap = tested && coverage != null ? bandFromT(coverage - nominal, tested.t, tested.quantile) : null;
  const covered: Figure = {
    name: `Coverage (nominal ${figure(nominal, "coverage")})`,
    unit: "coverage",
    value: coverage,
    band: gap && { low: nominal + gap.low, high: nominal + gap.high },
    percent: 95,
    reference: nominal,
  };
  const state = tested?.state ?? "too_few";
  const believed =
    alpha === null
      ? "The job had none, so mu has no range. Set “intervals” in the config."
      : Object.hasOwn(INTERVAL_WORDS, state) && INTERVAL_WORDS[state];
  return html`<dl class="answers">
    ${answer("Forecast", forecast)}
    ${answer("Skill", skill, [
      { name: "IC", unit: "ic", value: ic, band: bandFromT(ic, judged?.order.t, judged?.order.quantile) },
      { name: `IC ${when}`, unit: "ic", value: later?.ic, band: order && orderBands(order).order },
    ])}
    ${net.value !== null && answer("After costs", html`<p>Traded ${when}, the top fifth minus the bottom fifth ${costWords(net)}</p>`, [net])}
    ${answer("Intervals", html`<p>${believed}</p>`, alpha === null ? [] : [covered])}
    ${answer("Next", verdict && html`<p>${nextStep(verdict, later, ranking)}</p>`)}
  </dl>`;
}

/** A figure of an answer with its band, of 90 % by default. */
interface Figure {
  readonly name: string;
  readonly unit: Unit;
  readonly value: number | null | undefined;
  readonly band: Band | null | undefined;
  readonly percent?: number;
  /** The value without skill; 0 by default. */
  readonly reference?: number;
}

/** @param figures on one scale. */
function answer(question: string, words: Child, figures: readonly Figure[] = []): Child {
  const within = figures.flatMap(({ value, band }) => [value ?? 0, ...(band ? [band.low, band.high] : [])]);
  const lines = figures.map(({ name, unit, value, band, percent = 90, reference = 0 }) => {
    if (value == null) return undefined;
    const range = band && bandFigure(band, unit);
    return html`<dd class="figure"><span class="name">${name}</span> ${figure(value, unit)}${" "}
      ${range && html`<span class="detail">${percent}\u202f% band ${range}</span>`}
      ${strip({ value, ...band, reference }, figures.length > 1 ? within : [])}</dd>`;
  });
  return words && html`<div><dt>${question}</dt><dd>${words}</dd>${lines}</div>`;
}

function costWords({ value, band }: Figure): string {
  if (band == null) return "has no band, so chance may explain what is left after costs.";
  if (band.low > 0) return "earned its costs.";
  if (band.high < 0) return "lost to costs of 5 bp a side.";
  return `${value! < 0 ? "lost" : "earned"} a little after costs, or nothing: the band contains 0.`;
}
