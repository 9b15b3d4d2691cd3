import { formatDay } from "../../../contract/market/dates.ts";
import type { Coverage, JointMisses } from "../../../contract/output/metrics-schemas.ts";
import type { OutputBlob } from "../../../contract/output/output-blob.ts";
import type { CoverageTable } from "../../../evaluate/intervals/coverage.ts";
import type { OutputEvidence } from "../../evidence/output-evidence.ts";
import { countOf, type IntervalOutcomes, medianWidths } from "../../statistics/interval-outcomes.ts";
import { rollingRatio } from "../../statistics/running-sums.ts";
import { countedRows, figure } from "../figures.ts";
import type { Part } from "../report-data.ts";
import type { IntervalsSection, OtherMethod, TickerCoverage, YearCoverage } from "../section-data.ts";
import { ROLLING_DATES } from "./skill-over-time.ts";
import { volatilityCoverage } from "./volatility-coverage.ts";
import { whyNoLabels } from "./why-absent.ts";

type Intervals = NonNullable<OutputBlob["metrics"]["intervals"]>;

/** The intervals and their actual coverage. */
export function intervalsSection(evidence: OutputEvidence): Part<IntervalsSection> {
  const { document, coverage: table } = evidence;
  const { intervals } = document.metrics;
  if (intervals === null || table === undefined) return { absent: "The output was made without intervals." };
  const { n, coverage } = table.pooled;
  if (coverage === null) return { absent: whyNoCoverage(evidence, intervals) };
  const outcomes = evidence.outcomes.filter(({ days }) => days.length > 0);
  const nominal = 1 - intervals.alpha;
  const years = yearsOf(table.pooled.by_year ?? {});
  const tickers = tickersOf(outcomes, table);
  const others = othersOf(intervals);
  return {
    data: {
      method: intervals.method,
      bound: intervals.bound,
      nominal,
      n,
      coverage,
      overTime: overTime(evidence, nominal),
      tickers,
      tickersFinding: tickersFinding(tickers, nominal),
      years,
      yearsFinding: yearsFinding(years, nominal),
      misses: missesOf(tickers, n, intervals.bound, table.joint_misses),
      volatility: volatilityCoverage(evidence, intervals),
      others,
      othersFinding: othersFinding(others, intervals),
    },
  };
}

function whyNoCoverage(evidence: OutputEvidence, { pooled }: Intervals): string {
  const before = pooled.prequential;
  const why =
    evidence.dateCount === 0 ? whyNoLabels(evidence) : "No row with a realised return has an interval.";
  if (before == null || before.coverage === null) return why;
  return `${why} On ${countedRows(before.n, "row")} before the cut, the coverage of the same method was ${figure(before.coverage, "share")}.`;
}

function overTime(
  { dateCoverage, outcomesByDate }: OutputEvidence,
  nominal: number,
): IntervalsSection["overTime"] {
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

/** The lowest coverage first; equal ones by code point. */
function tickersOf(outcomes: readonly IntervalOutcomes[], { by_ticker }: CoverageTable): TickerCoverage[] {
  return outcomes
    .map(({ ticker, side }): TickerCoverage => {
      const { n, coverage, mean_width } = by_ticker.get(ticker)!;
      return {
        ticker,
        n,
        coverage: coverage!,
        below: countOf(side, -1),
        above: countOf(side, 1),
        meanWidth: mean_width,
      };
    })
    .sort((a, b) => a.coverage - b.coverage);
}

function tickersFinding(tickers: readonly TickerCoverage[], nominal: number): string {
  const [worst, best] = [tickers[0]!, tickers.at(-1)!];
  if (tickers.length === 1) {
    return `Coverage of ${worst.ticker} was ${figure(worst.coverage, "share")}; nominal coverage is ${figure(nominal, "share")}.`;
  }
  return `Coverage by ticker ranged from ${figure(worst.coverage, "share")} (${worst.ticker}) to ${figure(best.coverage, "share")} (${best.ticker}); nominal coverage is ${figure(nominal, "share")}.`;
}

function yearsOf(years: Readonly<Record<string, Coverage>>): YearCoverage[] {
  return Object.entries(years)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([year, { n, coverage, mean_width }]) =>
      coverage === null ? [] : [{ year: Number(year), n, coverage, meanWidth: mean_width }],
    );
}

function yearsFinding(years: readonly YearCoverage[], nominal: number): string {
  const worst = years.reduce((a, b) => (b.coverage < a.coverage ? b : a));
  const asked = `nominal coverage is ${figure(nominal, "share")}`;
  if (years.length === 1)
    return `Coverage in ${worst.year} was ${figure(worst.coverage, "share")}; ${asked}.`;
  return `The worst of ${countedRows(years.length, "year")} was ${worst.year}, with a coverage of ${figure(worst.coverage, "share")}; ${asked}.`;
}

function missesOf(
  tickers: readonly TickerCoverage[],
  n: number,
  bound: Intervals["bound"],
  { dates, half_missed }: JointMisses,
): IntervalsSection["misses"] {
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
      years: yearsOf(pooled.by_year ?? {}),
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
      : `; the interval score of ${method} divided by that of ${other.name} is ${figure(other.scoreRatio, "number")} (below 1 is better)`;
  return `On the same rows, coverage was ${figure(pooled.coverage, "share")} for ${method} intervals and ${figure(other.coverage, "share")} for ${other.name} intervals${ratio}.`;
}
