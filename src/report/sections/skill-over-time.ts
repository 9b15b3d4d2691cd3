import { type Day, formatDay, parseDay } from "../../contract/market/dates.ts";
import { mean } from "../../evaluate/statistics.ts";
import type { OutputSummary } from "../../outputs/output-summary.ts";
import { countedRows, figure, wholePercent } from "../../view/figures.ts";
import { histogramChart } from "../charts/column-chart.ts";
import { monthTable } from "../charts/month-table.ts";
import { type OutputEvidence, whyNoOrder } from "../evidence/output-evidence.ts";
import { linePanel, type Measure, numbersTable, type Panel } from "../panels/panel.ts";
import { chartSection, type Part, panelsOf } from "../panels/section.ts";
import { type Histogram, histogram } from "../statistics/histogram.ts";
import { months, noSkillFunnel, noSkillMean, type Period, years } from "../statistics/over-dates.ts";
import { cumulative, ROLLING_DATES, rollingMean } from "../statistics/running-sums.ts";

/** IC and RankIC over the dates. */
export const skillSection = chartSection({
  id: "skill",
  title: "Skill over time",
  short: "Skill",
  isByRows: true,
  needsReturns: true,
  lead: "IC is the correlation of forecasts and returns across the tickers of a date. RankIC is the correlation of their ranks. 0 means no skill.",
  panels: ({ common }) => panelsOf("Skill over time", skillOverTime(common), skillPanels),
});

const NO_SKILL = `${wholePercent(95)} no-skill band`;

/** IC and RankIC over the dates that count. */
interface SkillOverTime {
  /** Shape (n), ascending; all arrays below have the same shape. */
  readonly days: Int32Array;
  readonly ic: DailyCorrelation;
  readonly rankIc: DailyCorrelation;
  /** The dates on which models were refitted; empty without refits. */
  readonly refits: readonly Day[];
  /** The number of dates in a rolling mean. */
  readonly rollingDates: number;
  readonly years: readonly PeriodSkill[];
  readonly months: readonly (PeriodSkill & { readonly month: number })[];
}

/** A measure of order on each date. */
interface DailyCorrelation {
  readonly name: "IC" | "RankIC";
  readonly measure: Measure;
  readonly values: Float64Array;
  /** The running sum. */
  readonly cumulative: Float64Array;
  /** For each date, half the width of the band around 0 that contains 95 % of the sums of a forecast without skill. */
  readonly funnel: Float64Array;
  /** Mean of the last `rollingDates` values; NaN before there are that many. */
  readonly rolling: Float64Array;
  /** Half the width of the same band for a rolling mean; NaN without one. */
  readonly rollingFunnel: number;
  readonly histogram: Histogram;
  readonly mean: number;
  readonly finding: string;
  readonly rollingFinding: string;
  readonly histogramFinding: string;
  readonly yearsFinding: string;
  readonly monthsFinding: string;
}

interface PeriodSkill {
  readonly year: number;
  readonly dates: number;
  readonly ic: number;
  readonly rankIc: number;
}

/** A period with fewer dates is not called the best or the worst. */
const MIN_PERIOD_DATES = 10;

/** IC and RankIC over the dates that count. */
export function skillOverTime(evidence: OutputEvidence): Part<SkillOverTime> {
  const { days, ic, rankIc } = evidence.dates;
  if (days.length === 0) return { absent: whyNoOrder(evidence) };
  const skillOf = ({ year, from, to }: Period): PeriodSkill => ({
    year,
    dates: to - from,
    ic: mean(ic.subarray(from, to)),
    rankIc: mean(rankIc.subarray(from, to)),
  });
  const refits = refitDays(evidence.document);
  const byYear = years(days).map(skillOf);
  const byMonth = months(days).map((period) => ({ ...skillOf(period), month: period.month }));
  return {
    data: {
      days,
      ic: correlationOverTime("IC", ic, days, { years: byYear, months: byMonth }),
      rankIc: correlationOverTime("RankIC", rankIc, days, { years: byYear, months: byMonth }),
      refits,
      rollingDates: ROLLING_DATES,
      years: byYear,
      months: byMonth,
    },
  };
}

/** The first dates of all blocks except the first block. */
function refitDays({ refits }: OutputSummary): Day[] {
  return refits?.blocks.slice(1).flatMap(({ start }) => parseDay(start) ?? []) ?? [];
}

function correlationOverTime(
  name: DailyCorrelation["name"],
  values: Float64Array,
  days: Int32Array,
  { years, months }: Pick<SkillOverTime, "years" | "months">,
): DailyCorrelation {
  const rolling = rollingMean(values, ROLLING_DATES);
  const rollingFunnel = values.length < ROLLING_DATES ? Number.NaN : noSkillMean(values, ROLLING_DATES);
  const [sums, funnel] = [cumulative(values), noSkillFunnel(values)];
  const centre = mean(values);
  return {
    name,
    measure: name === "IC" ? "ic" : "rank",
    values,
    cumulative: sums,
    funnel,
    rolling,
    rollingFunnel,
    histogram: histogram(values),
    mean: centre,
    finding: sumFinding(name, sums.at(-1)!, funnel.at(-1)!, values.length),
    rollingFinding: rollingFinding(name, rolling, rollingFunnel, days),
    histogramFinding: signFinding(name, values, centre),
    yearsFinding: periodsFinding("year", name, years, (skill) => String(skill.year)),
    monthsFinding: periodsFinding(
      "month",
      name,
      months,
      ({ year, month }) => `${year}-${String(month).padStart(2, "0")}`,
    ),
  };
}

function sumFinding(name: string, sum: number, funnel: number, dates: number): string {
  const total = `The ${name} adds up to ${figure(sum, "sum")} over ${countedRows(dates, "date")}`;
  if (Number.isNaN(funnel)) return `${total}; there are too few figures for a no-skill band.`;
  const band = `the ${wholePercent(95)} no-skill band of ±${figure(funnel, "sum")}`;
  if (Math.abs(sum) <= funnel) return `${total}, inside ${band}.`;
  return `${total}, ${sum > 0 ? "above" : "below"} ${band}.`;
}

function rollingFinding(name: string, rolling: Float64Array, funnel: number, days: Int32Array): string {
  const first = ROLLING_DATES - 1;
  if (rolling.length <= first) {
    return `There are fewer than ${ROLLING_DATES} dates, too few for a rolling mean of the ${name}.`;
  }
  let [low, high] = [first, first];
  let outside = 0;
  for (let i = first; i < rolling.length; i++) {
    if (rolling[i]! < rolling[low]!) low = i;
    if (rolling[i]! > rolling[high]!) high = i;
    if (Math.abs(rolling[i]!) > funnel) outside++;
  }
  const range = `from ${figure(rolling[low]!, "ic")} (ending ${formatDay(days[low]!)}) to ${figure(rolling[high]!, "ic")} (ending ${formatDay(days[high]!)})`;
  const share = figure(outside / (rolling.length - first), "share");
  const left = Number.isNaN(funnel)
    ? ""
    : `; ${share} of these means are outside the no-skill band (${wholePercent(5)} expected without skill)`;
  return `The mean ${name} over ${ROLLING_DATES} dates ranged ${range}${left}.`;
}

function signFinding(name: string, values: Float64Array, centre: number): string {
  const above = values.filter((value) => value > 0).length;
  return `The ${name} was above 0 on ${figure(above / values.length, "share")} of ${countedRows(values.length, "date")}, with a mean of ${figure(centre, "ic")}.`;
}

function periodsFinding<T extends PeriodSkill>(
  unit: string,
  name: DailyCorrelation["name"],
  periods: readonly T[],
  nameOf: (period: T) => string,
): string {
  const of = meanOf(name);
  const good = periods.filter((period) => of(period) > 0).length;
  const long = periods.filter(({ dates }) => dates >= MIN_PERIOD_DATES);
  const all = `The mean ${name} was above 0 in ${figure(good, "count")} of ${countedRows(periods.length, unit)}`;
  if (long.length === 0) return `${all}.`;
  const best = long.reduce((a, b) => (of(b) > of(a) ? b : a));
  const worst = long.reduce((a, b) => (of(b) < of(a) ? b : a));
  const counted =
    long.length === periods.length ? "" : ` among those with at least ${MIN_PERIOD_DATES} dates`;
  if (long.length === 1) return `${all}: ${figure(of(best), "ic")} in ${nameOf(best)}.`;
  return `${all}, best in ${nameOf(best)} (${figure(of(best), "ic")}) and worst in ${nameOf(worst)} (${figure(of(worst), "ic")})${counted}.`;
}

function meanOf(name: DailyCorrelation["name"]): (period: PeriodSkill) => number {
  return name === "IC" ? ({ ic }) => ic : ({ rankIc }) => rankIc;
}

/** Each chart of the RankIC is followed by that of the IC: the page shows one of the two. */
function skillPanels(skill: SkillOverTime): Panel[] {
  const both = [skill.rankIc, skill.ic];
  return [
    ...both.map((daily) => rollingPanel(daily, skill)),
    ...both.map((daily) => histogramPanel(daily)),
    ...both.map((daily) => monthsPanel(daily, skill)),
  ];
}

/** The sums of both measures of order within their bands, the chart beside the verdict. */
export function cumulativePanels(skill: SkillOverTime): Panel[] {
  return [skill.rankIc, skill.ic].map((daily) => cumulativePanel(daily, skill));
}

function cumulativePanel(daily: DailyCorrelation, { days, refits }: SkillOverTime): Panel {
  const { name, measure, finding, cumulative, funnel, values } = daily;
  return linePanel({
    title: `${name}, cumulative`,
    measure,
    finding,
    days,
    values: cumulative,
    unit: "sum",
    name: `cumulative ${name}`,
    meaning: `sum of the daily ${name}`,
    band: { half: funnel, meaning: NO_SKILL },
    ticks: refits.length === 0 ? undefined : { days: refits, meaning: "models refitted" },
    columns: [
      [`Daily ${name}`, values],
      ["Sum", cumulative],
      ["No-skill band, ±", funnel],
    ],
  });
}

function rollingPanel(daily: DailyCorrelation, { days, rollingDates }: SkillOverTime): Panel {
  const { name, measure, rolling, rollingFinding: finding, rollingFunnel } = daily;
  const panel = linePanel({
    title: `${name}, mean over ${rollingDates} dates`,
    measure,
    finding,
    days,
    values: rolling,
    unit: "ic",
    name: `mean ${name}`,
    meaning: `mean ${name} over the last ${rollingDates} dates`,
    band: {
      half: rolling.map((value) => (Number.isNaN(value) ? Number.NaN : rollingFunnel)),
      meaning: NO_SKILL,
    },
    level: { value: 0 },
    columns: [[`Mean ${name}`, rolling]],
  });
  return { ...panel, tab: { card: "daily", label: `Mean of ${rollingDates} dates` } };
}

function histogramPanel({
  name,
  measure,
  histogram: counted,
  histogramFinding: finding,
  values,
}: DailyCorrelation): Panel {
  const { edges, counts } = counted;
  return {
    title: `Distribution of daily ${name}`,
    tab: { card: "daily", label: "Distribution" },
    measure,
    finding,
    chart: histogramChart(finding, counted, "ic", 0),
    numbers: numbersTable({
      caption: `${name} of ${values.length} dates`,
      columns: ["From", "To", "Dates"],
      rows: Array.from(counts, (count, i) => [
        figure(edges[i], "ic"),
        figure(edges[i + 1], "ic"),
        figure(count, "count"),
      ]),
    }),
  };
}

function monthsPanel(daily: DailyCorrelation, { months: byMonth, years: byYear }: SkillOverTime): Panel {
  const { name, measure, monthsFinding, yearsFinding } = daily;
  const of = meanOf(name);
  return {
    title: `${name} by month and year`,
    measure,
    finding: `${monthsFinding} ${yearsFinding}`,
    chart: monthTable(
      byMonth.map((month) => ({ ...month, value: of(month) })),
      byYear.map((year) => ({ ...year, value: of(year) })),
    ),
    numbers: numbersTable({
      caption: `${name} by year`,
      columns: ["Year", "Dates", name],
      rows: byYear.map((year) => [String(year.year), figure(year.dates, "count"), figure(of(year), "ic")]),
    }),
  };
}
