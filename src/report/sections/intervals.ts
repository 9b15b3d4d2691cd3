import { formatDay } from "../../contract/market/dates.ts";
import type { JointMisses } from "../../contract/output/metrics-schemas.ts";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { countedRows, figure } from "../../view/figures.ts";
import { rowChart } from "../charts/row-chart.ts";
import { type OutputEvidence, whyNoLabels } from "../evidence/output-evidence.ts";
import type { ReportedOutput } from "../evidence/reported-outputs.ts";
import { keyLine, linePanel, type Panel, plainTable } from "../panels/panel.ts";
import {
  chartSection,
  hasReturns,
  type Part,
  panelsOf,
  type Section,
  scoreRowsNote,
} from "../panels/section.ts";
import { medianWidths } from "../statistics/interval-outcomes.ts";
import { ROLLING_DATES, rollingRatio } from "../statistics/running-sums.ts";
import {
  coverageByYear,
  type GroupedCoverage,
  groupedCoverage,
  type TickerCoverage,
  tickerPanels,
  volatilityPanel,
  type YearCoverage,
  yearsPanel,
} from "./interval-coverage.ts";

const charts = chartSection({
  id: "intervals",
  title: "Intervals",
  panels: ({ common }) => panelsOf("Intervals", intervalsOf(common), intervalsPanels),
});

/** The intervals and their actual coverage; left out if nothing is known of it, which the verdict says. */
export const intervalsSection: Section = {
  ...charts,
  html: (report) => {
    const isKnown = ({ whole: { document } }: ReportedOutput) =>
      document.metrics.intervals === null || coverageBefore(document.metrics.intervals) !== undefined;
    if (!hasReturns(report) && !report.outputs.some(isKnown)) return undefined;
    return `${scoreRowsNote(report, "The output has no interval for each out-of-fold forecast, only their coverage.")}${charts.html(report)}`;
  },
};

/** Intervals and their actual coverage. */
interface IntervalsData extends GroupedCoverage {
  readonly bound: "both" | "lower" | "upper";
  readonly n: number;
  readonly coverage: number;
  /** Pooled over the tickers of the last `rollingDates` dates, NaN before; with the median width of each date. */
  readonly overTime: {
    readonly days: Int32Array;
    readonly rollingDates: number;
    readonly coverage: Float64Array;
    /** For a one-sided interval, the median distance of its end from the forecast. */
    readonly width: Float64Array;
    readonly coverageFinding: string;
    readonly widthFinding: string;
  };
  readonly misses: { readonly below: number; readonly above: number; readonly finding: string };
  /** What the other methods would have given on the same rows, from the blob. */
  readonly others: readonly OtherMethod[];
  readonly othersFinding: string | undefined;
}

interface OtherMethod {
  readonly name: string;
  readonly coverage: number | null;
  readonly meanWidth: number | null;
  readonly worstTicker: number | null;
  readonly years: readonly YearCoverage[];
  /** The interval score of the requested method divided by this method's. */
  readonly scoreRatio: number | null;
}

type Intervals = NonNullable<OutputBlob["metrics"]["intervals"]>;

/** The intervals and their actual coverage. */
export function intervalsOf(evidence: OutputEvidence): Part<IntervalsData> {
  const { document, coverage: table } = evidence;
  const { intervals } = document.metrics;
  if (intervals === null) return { absent: "The output was made without intervals." };
  if (table === undefined) return { absent: whyNoCoverage(evidence, intervals) };
  const { n, coverage } = table.pooled;
  if (coverage === null) return { absent: whyNoCoverage(evidence, intervals) };
  const grouped = groupedCoverage(evidence, intervals, table);
  const others = othersOf(intervals);
  return {
    data: {
      ...grouped,
      bound: intervals.bound,
      n,
      coverage,
      overTime: overTime(evidence, grouped.nominal),
      misses: missesOf(grouped.tickers, n, intervals.bound, table.joint_misses),
      others,
      othersFinding: othersFinding(others, intervals),
    },
  };
}

function whyNoCoverage(evidence: OutputEvidence, intervals: Intervals): string {
  const before = coverageBefore(intervals);
  // The verdict says why there are no realised returns.
  if (evidence.dateCount === 0) return before ?? whyNoLabels(evidence);
  const why =
    evidence.judgedRows === "score"
      ? "No row with a realised return has an interval."
      : whyNoLabels(evidence);
  return before === undefined ? why : `${why} ${before}`;
}

function coverageBefore({ pooled }: Intervals): string | undefined {
  const before = pooled.prequential;
  if (before == null || before.coverage === null) return undefined;
  return `On ${countedRows(before.n, "row")} before the cut, the coverage of the same method was ${figure(before.coverage, "share")}.`;
}

function overTime(
  { dateCoverage, outcomesByDate }: OutputEvidence,
  nominal: number,
): IntervalsData["overTime"] {
  const { days, numerators, denominators } = dateCoverage;
  const coverage = rollingRatio(numerators, denominators, ROLLING_DATES);
  const width = medianWidths(outcomesByDate);
  return {
    days,
    rollingDates: ROLLING_DATES,
    coverage,
    width,
    coverageFinding: rollingFinding(coverage, days, nominal),
    widthFinding: widthFinding(width, days),
  };
}

function rollingFinding(coverage: Float64Array, days: Int32Array, nominal: number): string {
  const first = ROLLING_DATES - 1;
  if (coverage.length <= first) {
    return `There are fewer than ${ROLLING_DATES} dates, too few for rolling coverage.`;
  }
  const [low, high] = extremes(coverage, first);
  return `Coverage over ${ROLLING_DATES} dates ranged from ${figure(coverage[low]!, "share")} (ending ${formatDay(days[low]!)}) to ${figure(coverage[high]!, "share")} (ending ${formatDay(days[high]!)}); nominal coverage is ${figure(nominal, "share")}.`;
}

function widthFinding(width: Float64Array, days: Int32Array): string {
  const [low, high] = extremes(width, 0);
  if (low === high) return `The median interval was ${figure(width[low]!, "share")} wide.`;
  return `The median interval was narrowest on ${formatDay(days[low]!)} (${figure(width[low]!, "share")} of price) and widest on ${formatDay(days[high]!)} (${figure(width[high]!, "share")}).`;
}

/** The positions of the first lowest and the first highest value. */
function extremes(values: Float64Array, from: number): [low: number, high: number] {
  let [low, high] = [from, from];
  for (let i = from; i < values.length; i++) {
    if (values[i]! < values[low]!) low = i;
    if (values[i]! > values[high]!) high = i;
  }
  return [low, high];
}

function missesOf(
  tickers: readonly TickerCoverage[],
  n: number,
  bound: Intervals["bound"],
  { dates, half_missed }: JointMisses,
): IntervalsData["misses"] {
  const below = tickers.reduce((sum, ticker) => sum + ticker.below, 0);
  const above = tickers.reduce((sum, ticker) => sum + ticker.above, 0);
  const [low, high] = [
    `${figure(below / n, "share")} of returns fell below their interval`,
    `${figure(above / n, "share")} rose above it`,
  ];
  const both = {
    both: `${low} and ${high}`,
    lower: low,
    upper: high.replace("rose", "of returns rose").replace("it", "their interval"),
  };
  const together =
    dates === 0
      ? ""
      : ` On ${figure(half_missed, "count")} of ${countedRows(dates, "date")}, at least half of the tickers missed their interval.`;
  return { below, above, finding: `${both[bound]}.${together}` };
}

function othersOf({ other_methods = {} }: Intervals): OtherMethod[] {
  return Object.entries(other_methods).map(([name, { pooled, by_ticker, score_ratio }]) => {
    const coverages = Object.values(by_ticker).flatMap(({ coverage }) => coverage ?? []);
    return {
      name,
      coverage: pooled.coverage,
      meanWidth: pooled.mean_width,
      worstTicker: coverages.length === 0 ? null : coverages.reduce((a, b) => Math.min(a, b)),
      years: coverageByYear(pooled.by_year ?? {}),
      scoreRatio: score_ratio,
    };
  });
}

function othersFinding(
  others: readonly OtherMethod[],
  { method = "split", pooled }: Intervals,
): string | undefined {
  const other = others.find((one) => one.coverage !== null);
  if (other === undefined) return undefined;
  const ratio =
    other.scoreRatio === null
      ? ""
      : `; the interval score of ${method} intervals divided by the score of ${other.name} intervals is ${figure(other.scoreRatio, "ratio")} (below 1 is better)`;
  return `On the same rows, coverage was ${figure(pooled.coverage, "share")} for ${method} intervals and ${figure(other.coverage, "share")} for ${other.name} intervals${ratio}.`;
}

function intervalsPanels(data: IntervalsData): Panel[] {
  return [
    rollingPanel(data),
    widthPanel(data),
    ...(data.volatility === undefined ? [] : [volatilityPanel(data, data.volatility)]),
    yearsPanel(data, data.others),
    missesPanel(data),
    ...tickerPanels(data),
  ];
}

function rollingPanel({ overTime, nominal }: IntervalsData): Panel {
  const { days, coverage, coverageFinding: finding, rollingDates } = overTime;
  const panel = linePanel({
    title: `Coverage over ${rollingDates} dates`,
    finding,
    days,
    values: coverage,
    unit: "share",
    name: "coverage",
    meaning: `coverage over the last ${rollingDates} dates`,
    level: { value: nominal, meaning: `nominal: ${figure(nominal, "share")}` },
    columns: [["Coverage", coverage]],
  });
  return { ...panel, tab: { card: "over-time", label: `Coverage over ${rollingDates} dates` } };
}

function widthPanel({ overTime, bound }: IntervalsData): Panel {
  const { days, width, widthFinding: finding } = overTime;
  const name = bound === "both" ? "median width" : "median distance of the bound from the forecast";
  const panel = linePanel({
    title: "Width",
    finding,
    days,
    values: width,
    unit: "share",
    name,
    meaning: `${name} over the tickers of a date, in percent of price`,
    level: { value: 0 },
    columns: [["Median", width]],
  });
  return { ...panel, tab: { card: "over-time", label: "Width" } };
}

/** Returns outside their interval, and what the other methods would have given on the same rows. */
function missesPanel(data: IntervalsData): Panel {
  const { misses, n, bound, nominal, othersFinding } = data;
  const sides = [
    ...(bound === "upper" ? [] : [{ name: "below", value: misses.below / n }]),
    ...(bound === "lower" ? [] : [{ name: "above", value: misses.above / n }]),
  ];
  const missLevel = (1 - nominal) / sides.length;
  const bars = rowChart({ finding: misses.finding, unit: "share", rows: sides, level: missLevel });
  const methods = othersFinding === undefined ? "" : methodsTable(data);
  return {
    title: methods === "" ? "Misses" : "Misses and other interval methods",
    finding: methods === "" ? misses.finding : `${misses.finding} ${othersFinding}`,
    chart: { extent: bars.extent, draw: (within) => `${bars.draw(within)}${methods}` },
    key: keyLine([
      ["bar", "share of returns outside the interval"],
      ["level", `nominal on ${sides.length === 1 ? "this" : "each"} side: ${figure(missLevel, "share")}`],
    ]),
  };
}

/** The requested method beside the others, on the same rows. */
function methodsTable({ others, method = "asked", coverage, tickers }: IntervalsData): string {
  return plainTable({
    caption: "interval methods on the same rows",
    columns: ["Method", "Coverage", "Worst ticker", "Score ratio"],
    rows: [
      [method, figure(coverage, "share"), figure(tickers[0]?.coverage, "share"), figure(1, "ratio")],
      ...others.map((other) => [
        other.name,
        figure(other.coverage, "share"),
        figure(other.worstTicker, "share"),
        figure(other.scoreRatio, "ratio"),
      ]),
    ],
  });
}
