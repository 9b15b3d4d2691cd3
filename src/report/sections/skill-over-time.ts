import type { VNode } from "preact";
import { formatDay, parseDay } from "../../contract/market/dates.ts";
import { mean } from "../../evaluate/statistics.ts";
import { bandAround0 } from "../../view/chart.ts";
import { countedRows, figure, wholePercent } from "../../view/figures.ts";
import { html } from "../../view/html.ts";
import { numbers } from "../../view/table.ts";
import { type OutputEvidence, whyNoOrder } from "../evidence/output-evidence.ts";
import { absent, linesOverDates, panelSection, type ReportPanel } from "../section.ts";
import { months, noSkillFunnel, noSkillMean, type Period, years } from "../statistics/over-dates.ts";
import { cumulative, ROLLING_DATES, rollingMean } from "../statistics/running-sums.ts";

export const skillSection = panelSection({
  id: "skill",
  title: "Skill over time",
  short: "Skill",
  isByRows: true,
  needsReturns: true,
  lead: () =>
    "IC is the correlation of forecasts and returns across the tickers of a date. RankIC is the correlation of their ranks. 0 means no skill.",
  panels: ({ common }) => {
    const measures = measuresOf(common);
    if (measures.length === 0) return absent("Skill over time", whyNoOrder(common));
    return [...measures.map(rollingPanel), ...measures.map(monthsPanel)];
  },
});

const NO_SKILL = `${wholePercent(95)} no-skill band`;

/** A measure of order on each date that counts: shape (n), at least one. */
interface DailyOrder {
  readonly name: "IC" | "RankIC";
  readonly measure: "ic" | "rank";
  readonly days: Int32Array;
  readonly values: Float64Array;
}

/** Each panel of the RankIC is followed by that of the IC: the page shows one of the two. */
function measuresOf({ dates: { days, ic, rankIc } }: OutputEvidence): DailyOrder[] {
  if (days.length === 0) return [];
  return [
    { name: "RankIC", measure: "rank", days, values: rankIc },
    { name: "IC", measure: "ic", days, values: ic },
  ];
}

export function cumulativePanels(evidence: OutputEvidence): ReportPanel[] {
  const measures = measuresOf(evidence);
  if (measures.length === 0) return absent("Skill over time", whyNoOrder(evidence));
  const refits =
    evidence.document.refits?.blocks.slice(1).flatMap(({ start }) => parseDay(start) ?? []) ?? [];
  return measures.map((daily) => cumulativePanel(daily, refits));
}

/** @param refits the days on which models were refitted. */
function cumulativePanel(
  { name, measure, days, values }: DailyOrder,
  refits: readonly number[],
): ReportPanel {
  const [sums, funnel] = [cumulative(values), noSkillFunnel(values)];
  const [sum, half] = [sums.at(-1)!, funnel.at(-1)!];
  const total = `The ${name} adds up to ${figure(sum, "sum")} over ${countedRows(days.length, "date")}`;
  const side = Math.abs(sum) <= half ? "inside" : sum > 0 ? "above" : "below";
  const within = refits.filter((day) => day >= days[0]! && day <= days.at(-1)!);
  return {
    measure,
    sentence: Number.isNaN(half)
      ? `${total}; there are too few figures for a no-skill band.`
      : `${total}, ${side} the ${NO_SKILL} of ±${figure(half, "sum")}.`,
    ...linesOverDates({
      title: `${name}, cumulative`,
      unit: "sum",
      days,
      lines: [[`cumulative ${name}`, `sum of the daily ${name}`, sums]],
      marks: [
        !Number.isNaN(half) && bandAround0(days, funnel, NO_SKILL),
        {
          kind: "dot second",
          shape: "dots",
          points: within.map((day) => [day, -Infinity]),
          meaning: "models refitted",
        },
      ],
      columns: [
        [`Daily ${name}`, "sum", values],
        ["Sum", "sum", sums],
        ["No-skill band, ±", "sum", funnel],
      ],
    }),
  };
}

function rollingPanel({ name, measure, days, values }: DailyOrder): ReportPanel {
  const title = `${name}, mean over ${ROLLING_DATES} dates`;
  const rolling = rollingMean(values, ROLLING_DATES);
  const first = ROLLING_DATES - 1;
  if (values.length <= first) {
    const few = `There are fewer than ${ROLLING_DATES} dates, too few for a rolling mean of the ${name}.`;
    return { title, measure, sentence: few };
  }
  const half = noSkillMean(values, ROLLING_DATES);
  const known = [...days.keys()].slice(first);
  const [low, high] = extremes(known, (i) => rolling[i]!);
  const outside = known.filter((i) => Math.abs(rolling[i]!) > half).length / known.length;
  const ending = (i: number) => `${figure(rolling[i]!, "ic")} (ending ${formatDay(days[i]!)})`;
  const left = Number.isNaN(half)
    ? ""
    : `; ${figure(outside, "share")} of these means are outside the no-skill band (${wholePercent(5)} expected without skill)`;
  const above = values.filter((value) => value > 0).length / values.length;
  const halves = rolling.map((value) => (Number.isNaN(value) ? Number.NaN : half));
  return {
    measure,
    sentence: `The mean ${name} over ${ROLLING_DATES} dates ranged from ${ending(low)} to ${ending(high)}${left}. The daily ${name} was above 0 on ${figure(above, "share")} of dates.`,
    ...linesOverDates({
      title,
      unit: "ic",
      days,
      within: [0],
      lines: [[`mean ${name}`, `mean ${name} over the last ${ROLLING_DATES} dates`, rolling]],
      marks: [!Number.isNaN(half) && bandAround0(days, halves, NO_SKILL)],
      columns: [[`Mean ${name}`, "ic", rolling]],
    }),
  };
}

export function extremes<T>(items: readonly T[], of: (item: T) => number): readonly [low: T, high: T] {
  return [items.reduce((a, b) => (of(b) < of(a) ? b : a)), items.reduce((a, b) => (of(b) > of(a) ? b : a))];
}

/** The mean over fewer dates is neither judged nor shaded. */
const MIN_PERIOD_DATES = 10;

interface PeriodMean extends Period {
  readonly dates: number;
  readonly value: number;
}

function monthsPanel({ name, measure, days, values }: DailyOrder): ReportPanel {
  const meansOf = (periods: readonly Period[]) =>
    periods.map(({ from, to, ...period }): PeriodMean => {
      return { ...period, from, to, dates: to - from, value: mean(values.subarray(from, to)) };
    });
  const [byMonth, byYear] = [meansOf(months(days)), meansOf(years(days))];
  const ofMonth = ({ year, month }: Period) => `${year}-${String(month).padStart(2, "0")}`;
  return {
    title: `${name} by month and year`,
    measure,
    sentence: `${periodsSentence("month", name, byMonth, ofMonth)} ${periodsSentence("year", name, byYear, ({ year }) => String(year))}`,
    body: monthTable(byMonth, byYear),
    numbers: numbers({
      name: `${name} by year`,
      rows: byYear,
      columns: [
        ["Year", "text", ({ year }) => String(year)],
        ["Dates", "count", ({ dates }) => dates],
        [name, "ic", ({ value }) => value],
      ],
    }),
  };
}

function periodsSentence(
  unit: string,
  name: string,
  periods: readonly PeriodMean[],
  nameOf: (period: Period) => string,
): string {
  const long = periods.filter(({ dates }) => dates >= MIN_PERIOD_DATES);
  if (long.length === 0) return `No ${unit} has ${MIN_PERIOD_DATES} dates.`;
  const good = long.filter(({ value }) => value > 0).length;
  const which = long.length === periods.length ? "" : ` with at least ${MIN_PERIOD_DATES} dates`;
  const all = `The mean ${name} was above 0 in ${good} of ${countedRows(long.length, unit)}${which}`;
  const [worst, best] = extremes(long, ({ value }) => value);
  if (long.length === 1) return `${all}: ${figure(best.value, "ic")} in ${nameOf(best)}.`;
  return `${all}, best in ${nameOf(best)} (${figure(best.value, "ic")}) and worst in ${nameOf(worst)} (${figure(worst.value, "ic")}).`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** A table that is its own chart: each cell has its number and a shade that shows its size. */
function monthTable(byMonth: readonly PeriodMean[], byYear: readonly PeriodMean[]): VNode {
  const shaded = byMonth.filter(({ dates }) => dates >= MIN_PERIOD_DATES);
  const largest = Math.max(0, ...shaded.map(({ value }) => Math.abs(value)));
  const cell = (period: PeriodMean | undefined) => {
    if (period === undefined) return html`<td></td>`;
    const { value, dates } = period;
    const isShaded = largest > 0 && dates >= MIN_PERIOD_DATES;
    const strength = isShaded ? Math.min(3, Math.ceil((3 * Math.abs(value)) / largest)) : 0;
    // In hundredths, because cells are narrow.
    const text = Math.abs(value).toFixed(2).replace(/^0/, "");
    const sign = value < 0 && /[1-9]/.test(text) ? "\u2212" : "";
    return html`<td class=${`${value < 0 ? "below" : "above"}${strength}`}>${sign}${text}</td>`;
  };
  return html`<table class="heat">
    <thead><tr>
      <th scope="col"><span class="unseen">Year</span></th>
      ${MONTHS.map((month) => html`<th scope="col">${month[0]}<span>${month.slice(1)}</span></th>`)}
      <th scope="col">Year</th>
    </tr></thead>
    <tbody>${byYear.map((whole) => {
      const ofYear = byMonth.filter(({ year }) => year === whole.year);
      return html`<tr><th scope="row">${whole.year}</th>
        ${MONTHS.map((_, i) => cell(ofYear.find(({ month }) => month === i + 1)))}${cell(whole)}</tr>`;
    })}</tbody>
  </table>`;
}
