import type { VNode } from "preact";
import { formatDay } from "../../contract/market/dates.ts";
import { closeTitle, orderBands, returnsText, verdictFigures } from "../../contract/output/later-close.ts";
import type { DelayedOrder } from "../../contract/output/metrics-schemas.ts";
import { smallFactorOf } from "../../contract/output/small-factor.ts";
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
          <h3 class="model">${bdi(output.name)}</h3>${answersOf(output)}${evidenceOf(output)}${figuresOf(output)}
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

function answersOf(output: ReportedOutput): VNode {
  const { whole, common } = output;
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
  const rest = first.startsWith(title) ? first.slice(title.length) : ` ${first}`;
  return answers({
    forecast: html`<p>${sentence(mu.length === 0 ? "No ticker has a forecast." : words)}${small && ` ${typesetFigures(small)}`}</p>`,
    skill: html`<p><span class=${`badge ${BADGES[stateOf(output)] ?? "unknown"}`}>${title}</span>${rest}</p>
      ${more.map((each) => html`<p>${sentence(typesetFigures(each))}</p>`)}`,
    verdict,
    judged,
    orders: document.metrics[orderRows]?.by_delay,
    alpha: document.metrics.intervals?.alpha ?? null,
    coverage: judged && coverageOf(judged, whole === common ? whole : common),
  });
}

/** The share of labels within their intervals. */
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

/** A line of evidence for each part of the verdict. */
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
interface Figure {
  readonly name: string;
  readonly unit: Unit;
  readonly value: number | null | undefined;
  readonly band: Band | null | undefined;
  readonly reference: readonly [name: string, value: number | null | undefined];
  /** Where a good value is: above its reference, at it or above, or at it and away from 0. */
  readonly aim?: "covered" | "sized";
}

/** The figures of the rows with their 90 % bands; IC, R² and coverage are those that the verdict is on. */
export function figuresOfRows(evidence: OutputEvidence): Figure[] {
  const { table, dates, byDate, judgedRows, document } = evidence;
  const judged = judgedSet(evidence);
  const { ic, r2 } = judged === undefined ? { ic: null, r2: null } : verdictFigures(judged);
  const on = judged === undefined || judged.rows === judgedRows ? "" : `, ${judged.rows} rows`;
  const { order, sizes, intervals } = judged ?? {};
  const slope = slopeOf(document);
  const coverage = judged && coverageOf(judged, evidence);
  const nominal = document.metrics.intervals ? 1 - document.metrics.intervals.alpha : 0;
  const gap = bandFromT((coverage ?? Number.NaN) - nominal, intervals?.t, intervals?.quantile);
  const sized = (value: number | null | undefined, baseline: "zero" | "mean") =>
    bandFromT(value, sizes?.against[baseline].squared_error_t, sizes?.quantile);
  const r2Mean = sizes?.against.mean.r2;
  const all: Figure[] = [
    {
      name: `IC${on}`,
      unit: "ic",
      value: ic,
      band: bandFromT(ic, order?.t, order?.quantile),
      reference: ["no skill", 0],
    },
    {
      name: "RankIC",
      unit: "ic",
      value: finiteOrNull(mean(dates.rankIc)),
      band: meanBand(dates.rankIc, 0.95),
      reference: ["no skill", 0],
    },
    { name: `R²${on}`, unit: "r2", value: r2, band: sized(r2, "zero"), reference: ["zero forecast", 0] },
    {
      name: `R² against the training mean${on}`,
      unit: "r2",
      value: r2Mean,
      band: sized(r2Mean, "mean"),
      reference: ["training mean", 0],
    },
    {
      name: "Hit rate",
      unit: "coverage",
      value: table.pooled.hit_rate,
      band: ratioOverDates(signedRows(byDate), 0.95).band,
      reference: ["up days", table.pooled.up_share],
    },
    {
      name: `Interval coverage${on}`,
      unit: "coverage",
      value: coverage,
      band: gap && { low: nominal + gap.low, high: nominal + gap.high },
      reference: ["nominal", nominal],
      aim: "covered",
    },
    {
      name: "Slope before shrinkage",
      unit: "t",
      value: slope.value,
      band: slope.band,
      reference: ["right size", 1],
      aim: "sized",
    },
  ];
  return all.filter(({ value }) => value != null);
}

/** Good or bad only if the band says so. */
export function judgementOf({
  band,
  aim,
  reference: [, at],
}: Pick<Figure, "band" | "aim" | "reference">): string {
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
    ["Figure", "text", ({ name }) => name],
    { title: "Value", cell: (row) => html`<b class=${judgementOf(row)}>${figure(row.value, row.unit)}</b>` },
    ["90\u202f% band", "text", ({ band, unit }) => (band == null ? NO_FIGURE : bandFigure(band, unit))],
    {
      title: html`<span class="unseen">On a line</span>`,
      kind: "line-cell",
      cell: ({ value, band, reference: [, at] }) => strip({ value: value!, ...band, reference: at ?? 0 }),
    },
    [
      "Reference",
      "text",
      ({ unit, reference: [name, at] }) => (at == null ? "" : `${name}: ${figure(at, unit)}`),
    ],
  ];
  return html`${rows.length > 0 && table({ name: `figures of the ${JUDGED_ROWS[common.judgedRows]}`, columns, rows, kind: "figures" })}
    <p class="faint facts">${sentence(factsOf(output, isSwitched))}</p>
    ${orders.some(({ dates }) => dates > 0) && byClose(orders, common)}`;
}

const WHY_FOLDS =
  " No score row has a realised return yet, so this report shows out-of-fold forecasts, each by a model that had not learned from the row.";

/** What the figures were computed from. */
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
