import type { Coverage } from "../../contract/output/metrics-schemas.ts";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { MIN_DATES } from "../../contract/output/test-quantile.ts";
import type { CoverageTable } from "../../evaluate/intervals/coverage.ts";
import { countedRows, figure } from "../../view/figures.ts";
import { columnChart, histogramChart } from "../charts/column-chart.ts";
import { rowChart } from "../charts/row-chart.ts";
import type { OutputEvidence } from "../evidence/output-evidence.ts";
import { END_BARS, ends, keyLine, longYears, numbersTable, type Panel } from "../panels/panel.ts";
import { histogram } from "../statistics/histogram.ts";
import { countOf, type IntervalOutcomes } from "../statistics/interval-outcomes.ts";

/** The coverage of intervals by ticker, year and volatility. */
export interface GroupedCoverage {
  readonly method: string | undefined;
  /** 1 - alpha. */
  readonly nominal: number;
  /** The lowest coverage first. */
  readonly tickers: readonly TickerCoverage[];
  readonly tickersFinding: string;
  readonly years: readonly YearCoverage[];
  readonly yearsFinding: string;
  /**
   * From the blob. Undefined for outputs of older versions, if no ticker has enough rows, and beside outputs that lack some of the
   * rows.
   */
  readonly volatility: VolatilityCoverage | undefined;
}

/** For the tenths of each ticker's rows by volatility, the quietest first. */
interface VolatilityCoverage {
  readonly tenths: readonly MeanCoverage[];
  /** The coverage that each other method would have had, by name. */
  readonly others: Readonly<Record<string, readonly (number | null)[]>>;
  readonly finding: string;
}

interface MeanCoverage {
  readonly n: number;
  readonly coverage: number | null;
  readonly meanWidth: number | null;
}

export interface TickerCoverage extends MeanCoverage {
  readonly ticker: string;
  readonly coverage: number;
  readonly below: number;
  readonly above: number;
}

export interface YearCoverage extends MeanCoverage {
  readonly year: number;
  readonly coverage: number;
}

type Intervals = NonNullable<OutputBlob["metrics"]["intervals"]>;

/** @param table with a coverage: at least one labelled row has an interval. */
export function groupedCoverage(
  evidence: OutputEvidence,
  intervals: Intervals,
  table: CoverageTable,
): GroupedCoverage {
  const nominal = 1 - intervals.alpha;
  const years = coverageByYear(table.pooled.by_year ?? {});
  const tickers = coverageByTicker(evidence.outcomes, table);
  return {
    method: intervals.method,
    nominal,
    tickers,
    tickersFinding: tickersFinding(tickers, nominal),
    years,
    yearsFinding: yearsFinding(years, nominal),
    volatility: volatilityCoverage(evidence, intervals),
  };
}

/** @returns coverage by tenths of volatility; undefined if the output does not have it for the rows of the report. */
function volatilityCoverage(evidence: OutputEvidence, intervals: Intervals): VolatilityCoverage | undefined {
  const thin = thinClause(evidence, intervals);
  if (thin === undefined) return undefined;
  const { by_volatility = [], other_methods = {} } = intervals;
  const others = Object.entries(other_methods).flatMap(([name, other]) =>
    other.by_volatility === undefined
      ? []
      : [[name, other.by_volatility.map(({ coverage }) => coverage)] as const],
  );
  return {
    tenths: by_volatility.map(({ n, coverage, mean_width }) => ({ n, coverage, meanWidth: mean_width })),
    others: Object.fromEntries(others),
    finding: `${thin}; nominal coverage is ${figure(1 - intervals.alpha, "share")}.${feedbackClause(intervals, evidence.dateCount)}`,
  };
}

/**
 * Coverage on the quietest and on the wildest days.
 * @returns undefined if the output does not have it, or has it for more rows than the report covers.
 */
function thinClause({ coverage }: OutputEvidence, intervals: Intervals): string | undefined {
  const { by_volatility = [], pooled } = intervals;
  const [quietest, wildest] = [by_volatility[0]?.coverage, by_volatility.at(-1)?.coverage];
  if (quietest == null || wildest == null || coverage?.pooled.n !== pooled.n) return undefined;
  return `Coverage was ${figure(quietest, "share")} on the tenth of days with the lowest volatility and ${figure(wildest, "share")} on the tenth with the highest`;
}

function feedbackClause({ method, pooled }: Intervals, dateCount: number): string {
  if (method !== "adaptive" || dateCount < MIN_DATES) return "";
  return ` The overall coverage of ${figure(pooled.coverage, "share")} follows in the long run by construction, because adaptive intervals react to misses; judge them by these tenths.`;
}

/** The key of bars that end below nominal; none if there is no such bar. */
function belowNominal(groups: readonly { readonly coverage: number | null }[], nominal: number) {
  const isBelow = groups.some(({ coverage }) => coverage !== null && coverage < nominal);
  return isBelow ? [["bar bad", "below nominal"] as const] : [];
}

export function volatilityPanel(
  { nominal, method = "asked" }: GroupedCoverage,
  { tenths, others, finding }: VolatilityCoverage,
): Panel {
  const [other] = Object.entries(others);
  const level = ["level", `nominal: ${figure(nominal, "share")}`] as const;
  const labels = tenths.map((_, i) => String(i + 1));
  return {
    title: "Coverage by volatility",
    tab: { card: "coverage", label: "By volatility" },
    finding,
    chart: columnChart({
      finding,
      labels,
      unit: "share",
      series: [tenths.map(({ coverage }) => coverage), ...(other === undefined ? [] : [other[1]])],
      level: nominal,
      isFromLevel: true,
      isJudged: true,
    }),
    key: keyLine(
      other === undefined
        ? [
            ["bar", "tenths of each ticker's days; 1 is the quietest"],
            ...belowNominal(tenths, nominal),
            level,
          ]
        : [
            ["bar", `${method}, by tenths of each ticker's days; 1 is the quietest`],
            ...belowNominal(tenths, nominal),
            ["bar second", other[0]],
            level,
          ],
    ),
    numbers: coverageNumbers("coverage by volatility", "Tenth", labels, tenths),
  };
}

function coverageNumbers(
  caption: string,
  group: string,
  names: readonly string[],
  groups: readonly MeanCoverage[],
): string {
  return numbersTable({
    caption,
    columns: [group, "Rows", "Coverage", "Mean width"],
    rows: groups.map(({ n, coverage, meanWidth }, i) => [
      names[i]!,
      figure(n, "count"),
      figure(coverage, "share"),
      figure(meanWidth, "share"),
    ]),
  });
}

export function coverageByYear(years: Readonly<Record<string, Coverage>>): YearCoverage[] {
  return Object.entries(years)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([year, { n, coverage, mean_width }]) =>
      coverage === null ? [] : [{ year: Number(year), n, coverage, meanWidth: mean_width }],
    );
}

function yearsFinding(years: readonly YearCoverage[], nominal: number): string {
  const { long } = longYears(years, "row");
  const worst = long.reduce((a, b) => (b.coverage < a.coverage ? b : a));
  const asked = `nominal coverage is ${figure(nominal, "share")}`;
  if (long.length === 1) return `Coverage in ${worst.year} was ${figure(worst.coverage, "share")}; ${asked}.`;
  return `The worst of ${countedRows(long.length, "year")} was ${worst.year}, with a coverage of ${figure(worst.coverage, "share")}; ${asked}.`;
}

/** @param others the coverage of other methods by year. */
export function yearsPanel(
  { years, yearsFinding: finding, nominal, method = "asked" }: GroupedCoverage,
  others: readonly { readonly name: string; readonly years: readonly YearCoverage[] }[],
): Panel {
  const { long, note } = longYears(years, "row");
  const other = others.find((one) => one.years.length > 0);
  const theirs =
    other === undefined
      ? []
      : [long.map(({ year }) => other.years.find((one) => one.year === year)?.coverage ?? null)];
  const level = ["level", `nominal: ${figure(nominal, "share")}`] as const;
  return {
    title: "Coverage by year",
    tab: { card: "coverage", label: "By year" },
    finding: `${finding}${note}`,
    chart: columnChart({
      finding,
      labels: long.map(({ year }) => String(year)),
      unit: "share",
      series: [long.map(({ coverage }) => coverage), ...theirs],
      level: nominal,
      isFromLevel: true,
      isJudged: true,
    }),
    key: keyLine(
      other === undefined
        ? [["bar", "coverage"], ...belowNominal(long, nominal), level]
        : [["bar", method], ...belowNominal(long, nominal), ["bar second", other.name], level],
    ),
    numbers: coverageNumbers(
      "coverage by year",
      "Year",
      years.map(({ year }) => String(year)),
      years,
    ),
  };
}

/** The lowest coverage first; equal ones by code point. */
function coverageByTicker(
  outcomes: readonly IntervalOutcomes[],
  { by_ticker }: CoverageTable,
): TickerCoverage[] {
  return outcomes
    .filter(({ days }) => days.length > 0)
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

export function tickerPanels({ tickers, tickersFinding: finding, nominal }: GroupedCoverage): Panel[] {
  const { shown, gap } = ends(tickers);
  const level = ["level", `nominal: ${figure(nominal, "share")}`] as const;
  const cut = gap === undefined ? "" : ` The ${END_BARS} lowest and the ${END_BARS} highest are shown.`;
  const each: Panel = {
    title: "Coverage by ticker",
    finding: `${finding}${cut}`,
    chart: rowChart({
      finding,
      unit: "share",
      base: nominal,
      atLeast: [nominal - 0.03, Math.min(1, nominal + 0.03)],
      level: nominal,
      gap,
      isJudged: true,
      rows: shown.map(({ ticker, coverage }) => ({ name: ticker, value: coverage })),
    }),
    key: keyLine([["bar", "difference from nominal"], ...belowNominal(tickers, nominal), level]),
    numbers: tickersNumbers(tickers),
  };
  if (gap === undefined) return [each];
  const all = `Coverage of all ${countedRows(tickers.length, "ticker")}; nominal coverage is ${figure(nominal, "share")}.`;
  const counts = histogram(Float64Array.from(tickers, ({ coverage }) => coverage));
  return [
    { ...each, tab: { card: "tickers-covered", label: "Coverage by ticker" } },
    {
      title: "Coverage of all tickers",
      tab: { card: "tickers-covered", label: "All tickers" },
      finding: all,
      chart: histogramChart(all, counts, "share", nominal),
    },
  ];
}

function tickersNumbers(tickers: readonly TickerCoverage[]): string {
  return numbersTable({
    caption: "coverage by ticker",
    columns: ["Ticker", "Rows", "Coverage", "Below", "Above", "Mean width"],
    rows: tickers.map(({ ticker, n, coverage, below, above, meanWidth }) => [
      ticker,
      figure(n, "count"),
      figure(coverage, "share"),
      figure(below, "count"),
      figure(above, "count"),
      figure(meanWidth, "share"),
    ]),
  });
}
