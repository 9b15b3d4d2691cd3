import type { VNode } from "preact";
import { formatDay } from "../../contract/market/dates.ts";
import { closeTitle, orderBands, returnsText, verdictFigures } from "../../contract/output/later-close.ts";
import type { DelayedOrder } from "../../contract/output/metrics-schemas.ts";
import { rankingOf, smallFactorOf } from "../../contract/output/small-factor.ts";
import { bandFromT } from "../../contract/output/test-quantile.ts";
import type { FindingState, RowsVerdict, VerdictState } from "../../contract/output/verdict.ts";
import { finiteOrNull, mean } from "../../evaluate/statistics.ts";
import { answers } from "../../view/answers.ts";
import { bandFigure, countedRows, figure, NO_FIGURE, typesetFigures, type Unit } from "../../view/figures.ts";
import { html } from "../../view/html.ts";
import { type MarkName, mark, strip } from "../../view/marks.ts";
import { type ColumnSpec, table } from "../../view/table.ts";
import { bdi, sentence } from "../../view/text.ts";
import {
  JUDGED_ROWS,
  judgedSet,
  NO_FOLDS,
  type OutputEvidence,
  slopeOf,
  spanOf,
  whyNoLabels,
} from "../evidence/output-evidence.ts";
import { type ReportedOutput, stateOf } from "../evidence/reported-outputs.ts";
import { besideEachOther, byRows, hasReturns, panelGrid, type Section } from "../section.ts";
import { type Band, meanBand, ratioOverDates, signedRows } from "../statistics/over-dates.ts";
import { ORDER_COLUMNS } from "./order-worth.ts";
import { cumulativePanels } from "./skill-over-time.ts";

/** The first screen: the answers, the evidence for each part of the verdict beside the sum of the measure of order, and the figures. */
export const verdictSection: Section = {
  id: "verdict",
  title: "Verdict",
  render: (report) => {
    const { outputs } = report;
    if (outputs.length > 1) {
      const beside = outputs.map(
        (output) => html`<div class="verdict">
          <h3 class="model">${bdi(output.name)}</h3>${answersOf(output, true)}${evidenceOf(output)}${figuresOf(output)}
        </div>`,
      );
      return html`<div class="beside">${beside}</div>
        ${hasReturns(report) && besideEachOther(outputs, ({ common }) => cumulativePanels(common))}`;
    }
    const [output] = outputs as readonly [ReportedOutput];
    const sums = byRows(output, ({ common }, rows) => panelGrid(cumulativePanels(common), rows));
    return html`${answersOf(output)}
      <div class="verdict evidence">${evidenceOf(output)}${output.common.dateCount > 0 && sums}</div>
      ${byRows(output, (on) => figuresOf(on, on !== output))}`;
  },
};

/** Only skill with correct sizes is good. */
const BADGES: Readonly<Record<VerdictState, "some" | "none" | "unknown">> = {
  skill: "some",
  oversized: "unknown",
  none: "none",
  worse: "none",
  too_few: "unknown",
};

/** @param isBeside whether the verdict, but not the order at later closes, is on the rows of all outputs. */
function answersOf(output: ReportedOutput, isBeside = false): VNode {
  const { common } = output;
  const { document, verdict, judgedRows, modelName } = common;
  const judged = verdict?.judged.find(({ rows }) => rows === verdict.rows);
  const mu = Object.values(document.mu);
  const small = smallFactorOf(document);
  const returns = returnsText(document.window.delay);
  const words =
    mu.length > 0 && mu.every((value) => value === 0)
      ? `The ${returns} (mu) of ${countedRows(mu.length, "ticker")} as of ${document.window.as_of} are all 0.`
      : `${returns[0]!.toUpperCase()}${returns.slice(1)} (mu) of ${countedRows(mu.length, "ticker")} as of ${document.window.as_of}, by ${modelName}.`;
  const orderRows = judgedRows === "out_of_fold" || verdict?.rows === "out_of_fold" ? "out_of_fold" : "score";
  const title = verdict?.title ?? "Nothing to judge";
  const [first = "", ...more] = partsOf(common).head;
  const rest = first.startsWith(title) ? first.slice(title.length) : first;
  return answers({
    forecast: html`<p>${sentence(mu.length === 0 ? "No ticker has a forecast." : words)}${small && ` ${typesetFigures(small)}`}</p>`,
    skill: html`<p><span class=${`badge ${BADGES[stateOf(output)] ?? "unknown"}`}>${sentence(title)}</span> ${sentence(rest.trim())}</p>
      ${more.map((each) => html`<p>${sentence(typesetFigures(each))}</p>`)}`,
    verdict,
    judged,
    orders: document.metrics[orderRows]?.by_delay,
    ...(isBeside && { ordersOn: ` on all its ${JUDGED_ROWS[orderRows]}` }),
    ranking: rankingOf(
      Object.values(document.metrics.shrinkage?.applied ?? {}),
      document.mu_model !== undefined,
    ),
    alpha: document.metrics.intervals?.alpha ?? null,
    coverage: judged && coverageOf(judged, common),
  });
}

function coverageOf(
  { rows, intervals }: RowsVerdict,
  { coverage }: OutputEvidence,
): number | null | undefined {
  return rows === "score" ? coverage?.pooled.coverage : intervals?.figure;
}

/** The parts of a verdict, by the word that their sentences begin with. */
const PARTS = { Order: "order", Sizes: "sizes", Intervals: "intervals" } as const;

type Part = readonly [name: keyof typeof PARTS, sentences: string[]];

/** The sentences of a verdict: those of each part are the last ones; a sentence without the word of a part continues the part before it. */
export function partsOf({ verdict }: Pick<OutputEvidence, "verdict">): {
  readonly head: readonly string[];
  readonly parts: readonly Part[];
} {
  const head: string[] = [];
  const parts: Part[] = [];
  const sentences = verdict?.sentence.split(/(?<=\.) (?=[A-Z])/) ?? [
    "The output has no ticker with a forecast.",
  ];
  for (const each of sentences) {
    const name = /^(Order|Sizes|Intervals)(?: over time)?: /.exec(each)?.[1] as
      | keyof typeof PARTS
      | undefined;
    if (name !== undefined) parts.push([name, [each]]);
    else (parts.at(-1)?.[1] ?? head).push(each);
  }
  return { head, parts };
}

/** How a finding looks: a mark tells it from the others without its colour. */
const LOOKS: Readonly<Record<FindingState, readonly [kind: string, mark: MarkName]>> = {
  evidence: ["good", "tick"],
  none: ["none", "dash"],
  worse: ["bad", "cross"],
  too_few: ["unknown", "dots"],
};

function evidenceOf({ common }: ReportedOutput): VNode {
  const judged = common.verdict?.judged[0];
  return html`<ul class="chips">${partsOf(common).parts.map(([name, sentences]) => {
    const [kind, icon] = LOOKS[judged?.[PARTS[name]]?.state ?? "too_few"] ?? LOOKS.too_few;
    const whole = typesetFigures(sentences.join(" "));
    const label = whole.slice(0, whole.indexOf(":"));
    return html`<li class=${`chip ${kind}`}>${mark(icon)}<p><b>${label}</b>${sentence(whole.slice(label.length))}</p></li>`;
  })}</ul>`;
}

/** A figure with its reference: the value without skill, or the requested one. */
type Figure = readonly [
  name: string,
  unit: Unit,
  value: number | null | undefined,
  band: Band | null | undefined,
  reference: readonly [name: string, value: number | null | undefined],
  /** Of the band; 90 by default. */
  percent?: number,
  /** Where a good value is: above its reference, at it or above, or at it and away from 0. */
  aim?: "covered" | "sized",
];

/** The figures of the rows with the bands of the verdict; IC and R² are those of the rows that it is on. */
export function figuresOfRows(evidence: OutputEvidence): Figure[] {
  const { table, dates, byDate, judgedRows, document } = evidence;
  const judged = judgedSet(evidence);
  const { ic, r2 } = judged === undefined ? { ic: null, r2: null } : verdictFigures(judged);
  const on = judged === undefined || judged.rows === judgedRows ? "" : `, ${judged.rows} rows`;
  const { order, sizes } = judged ?? {};
  const slope = slopeOf(document);
  const recorded = evidence.verdict?.judged.find(({ rows }) => rows === judgedRows);
  const coverage = recorded && coverageOf(recorded, evidence);
  const { t, quantile, dates: covered = 0 } = recorded?.intervals ?? {};
  const nominal = document.metrics.intervals ? 1 - document.metrics.intervals.alpha : 0;
  const gap = bandFromT((coverage ?? Number.NaN) - nominal, t, quantile);
  const inside = gap && { low: nominal + gap.low, high: nominal + gap.high };
  const sized = (value: number | null | undefined, baseline: "zero" | "mean") =>
    bandFromT(value, sizes?.against[baseline].squared_error_t, sizes?.quantile);
  const r2Mean = sizes?.against.mean.r2;
  const of = judgedRows === "score" ? "" : `, ${countedRows(covered, "date")}`;
  const rankIc = finiteOrNull(mean(dates.rankIc));
  const { hit_rate, up_share } = table.pooled;
  const hits = ratioOverDates(signedRows(byDate), 0.95).band;
  const figures: readonly Figure[] = [
    [`IC${on}`, "ic", ic, bandFromT(ic, order?.t, order?.quantile), ["no skill", 0]],
    ["RankIC", "ic", rankIc, meanBand(dates.rankIc, 0.95), ["no skill", 0]],
    [`R²${on}`, "r2", r2, sized(r2, "zero"), ["zero forecast", 0], 95],
    [`R² against the training mean${on}`, "r2", r2Mean, sized(r2Mean, "mean"), ["training mean", 0], 95],
    ["Hit rate", "coverage", hit_rate, hits, ["up days", up_share]],
    [`Interval coverage${of}`, "coverage", coverage, inside, ["nominal", nominal], 95, "covered"],
    ["Slope before shrinkage", "t", slope.value, slope.band, ["right size", 1], 90, "sized"],
  ];
  return figures.filter(([, , value]) => value != null);
}

/** Good or bad only if the band says so. */
export function judgementOf(band: Figure[3], at: Figure[4][1], aim: Figure[6]): string {
  if (band == null || at == null) return "open";
  const holds = band.low <= at && at <= band.high;
  if (aim === "sized") return band.high < 0 ? "bad" : holds && band.low > 0 ? "good" : "open";
  if (band.high < at) return "bad";
  return (aim === "covered" ? holds : band.low > at) ? "good" : "open";
}

/** @param isSwitched whether the reader chose these rows. */
function figuresOf(output: ReportedOutput, isSwitched = false): VNode {
  const { common } = output;
  const rows = figuresOfRows(common);
  const orders = common.document.metrics[common.judgedRows]?.by_delay ?? [];
  const columns: readonly ColumnSpec<Figure>[] = [
    ["Figure", "text", ([name]) => name],
    {
      title: "Value",
      cell: ([, unit, value, band, [, at], , aim]) =>
        html`<b class=${judgementOf(band, at, aim)}>${figure(value, unit)}</b>`,
    },
    [
      "Band",
      "text",
      ([, unit, , band, , percent = 90]) =>
        band == null ? NO_FIGURE : `${percent}\u202f%: ${bandFigure(band, unit)}`,
    ],
    {
      title: html`<span class="unseen">On a line</span>`,
      kind: "line-cell",
      cell: ([, , value, band, [, at]]) => strip({ value: value!, ...band, reference: at ?? 0 }),
    },
    ["Reference", "text", ([, unit, , , [name, at]]) => (at == null ? "" : `${name}: ${figure(at, unit)}`)],
  ];
  return html`${rows.length > 0 && table({ name: `figures of the ${JUDGED_ROWS[common.judgedRows]}`, columns, rows, kind: "figures" })}
    <p class="faint facts">${sentence(factsOf(output, isSwitched))}</p>
    ${orders.some(({ dates }) => dates > 0) && byClose(orders, common)}`;
}

const WHY_FOLDS =
  " No score row has a realised return yet, so this report shows out-of-fold forecasts, each by a model that had not learned from the row.";

function factsOf({ whole, common }: ReportedOutput, isSwitched: boolean): string {
  const { document, judgedRows, dateCount, rows, table } = common;
  const { operation, window } = document;
  if (dateCount === 0) {
    const why =
      whole.dateCount > 0 ? "No row that all outputs have has a realised return." : whyNoLabels(whole);
    return `${operation}. ${why}`;
  }
  const span = spanOf(common)!.map(formatDay).join(" to ");
  const judged = `${figure(table.pooled.n, "count")} ${JUDGED_ROWS[judgedRows]} of ${countedRows(rows.length, "ticker")} over ${countedRows(dateCount, "date")}, ${span}`;
  const networks = operation === "run_dl_job" ? ` ${NO_FOLDS}` : "";
  const folds = judgedRows === "score" || isSwitched ? "" : WHY_FOLDS;
  const held = operation === "run_dl_job" ? "calibration" : "out-of-fold";
  const slope = judgedRows === "score" ? ` The slope is measured on the ${held} rows.` : "";
  return `${operation}, judged on ${judged}.${networks}${folds}${slope} Returns are ${returnsText(window.delay, " in percent")}; returns of fifths are simple returns. On the lines, the dot is the value, the bar is its band, and the dashed mark is the reference.`;
}

const OVER_TIME_COLUMNS: readonly ColumnSpec<DelayedOrder>[] = [
  ["Order over time, deviations", "ic", ({ order_mean }) => order_mean],
  ["90\u202f% band", "band", "ic", (order) => orderBands(order).order],
  ["Dates", "count", ({ dates }) => dates],
];

/** What the order is worth at the close of the labels and at the two after it, with costs. */
function byClose(orders: readonly DelayedOrder[], { judgedRows, verdict }: OutputEvidence): VNode {
  const isOverTime = orders.some(({ order_mean }) => order_mean !== undefined);
  const columns: readonly ColumnSpec<DelayedOrder>[] = [
    ["Trade", "text", ({ delay }) => closeTitle(delay)],
    ...(isOverTime ? OVER_TIME_COLUMNS : ORDER_COLUMNS),
  ];
  const meaning = isOverTime
    ? "The mean over dates of the sign of each forecast above its own past mean, times the return in units of its deviation."
    : "Spread: top minus bottom fifth of the forecasts, a day. Replaced: share of a fifth that was not in it the date before. After: the spread less that cost a side.";
  const later =
    verdict?.rows === judgedRows || verdict?.rows === "calibration" || verdict?.rows === "validation";
  return html`<div class="closes">
    <h3>By the close of the trade</h3>
    ${later && verdict.later !== undefined && html`<p class="later">${sentence(typesetFigures(verdict.later))}</p>`}
    ${table({ name: `what the order of the ${JUDGED_ROWS[judgedRows]} is worth by the close of the trade`, columns, rows: orders })}
    <p class="faint">${meaning}</p>
  </div>`;
}
