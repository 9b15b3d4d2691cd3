import { formatDay } from "../../contract/market/dates.ts";
import type { Coverage } from "../../contract/output/metrics-schemas.ts";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { MIN_DATES } from "../../contract/output/test-quantile.ts";
import type { CoverageTable } from "../../evaluate/intervals/coverage.ts";
import { columnsOf, level } from "../../view/chart.ts";
import { countedRows, figure } from "../../view/figures.ts";
import { html } from "../../view/html.ts";
import { numbers, table } from "../../view/table.ts";
import { type OutputEvidence, whyNoLabels } from "../evidence/output-evidence.ts";
import {
  absent,
  hasReturns,
  linesOverDates,
  longYears,
  panelSection,
  type ReportPanel,
  type Section,
  scoreRowsNote,
} from "../section.ts";
import { ROLLING_DATES, rollingRatio } from "../statistics/running-sums.ts";
import { extremes } from "./skill-over-time.ts";

type Intervals = NonNullable<OutputBlob["metrics"]["intervals"]>;

interface Covered {
  readonly evidence: OutputEvidence;
  readonly intervals: Intervals;
  readonly table: CoverageTable;
  readonly nominal: number;
  readonly method: string;
  /** The key of the line at the nominal coverage, and the end of sentences. */
  readonly nominalIs: string;
}

const panels = panelSection({
  id: "intervals",
  title: "Intervals",
  panels: ({ common }) => {
    const { intervals } = common.document.metrics;
    if (intervals === null) return absent("Intervals", "The output was made without intervals.");
    const { coverage: table } = common;
    if (table === undefined || table.pooled.coverage === null)
      return absent("Intervals", whyNoCoverage(common, intervals));
    const nominal = 1 - intervals.alpha;
    const nominalIs = `nominal coverage is ${figure(nominal, "share")}`;
    const { method = "split" } = intervals;
    const covered: Covered = { evidence: common, intervals, method, table, nominal, nominalIs };
    return [
      rollingPanel(covered),
      ...volatilityPanels(covered),
      ...yearsPanels(covered),
      missesPanel(covered),
    ];
  },
});

/** The intervals and their actual coverage; left out if nothing is known of it, which the verdict says. */
export const intervalsSection: Section = {
  ...panels,
  render: (report) => {
    const isKnown = report.outputs.some(({ whole }) => {
      const { intervals } = whole.document.metrics;
      return intervals === null || coverageBefore(intervals) !== undefined;
    });
    if (!hasReturns(report) && !isKnown) return undefined;
    const why = "The output has no interval for each out-of-fold forecast, only their coverage.";
    return html`${scoreRowsNote(report, why)}${panels.render(report)}`;
  },
};

function whyNoCoverage(evidence: OutputEvidence, intervals: Intervals): string {
  const before = coverageBefore(intervals);
  // The verdict says why there are no realised returns.
  if (evidence.dateCount === 0) return before ?? whyNoLabels(evidence);
  const isScore = evidence.judgedRows === "score";
  const why = isScore ? "No row with a realised return has an interval." : whyNoLabels(evidence);
  return before === undefined ? why : `${why} ${before}`;
}

function coverageBefore({ pooled }: Intervals): string | undefined {
  const before = pooled.prequential;
  if (before == null || before.coverage === null) return undefined;
  return `On ${countedRows(before.n, "row")} before the cut, the coverage of the same method was ${figure(before.coverage, "share")}.`;
}

function rollingPanel({ evidence: { coverageDates }, nominal, nominalIs }: Covered): ReportPanel {
  const title = `Coverage over ${ROLLING_DATES} dates`;
  const { days, inside, counted } = coverageDates;
  const coverage = rollingRatio(inside, counted, ROLLING_DATES);
  const known = [...days.keys()].slice(ROLLING_DATES - 1);
  if (known.length === 0)
    return { title, sentence: `There are fewer than ${ROLLING_DATES} dates, too few for rolling coverage.` };
  const ending = (i: number) => `${figure(coverage[i], "share")} (ending ${formatDay(days[i]!)})`;
  const [low, high] = extremes(known, (i) => coverage[i]!);
  return {
    sentence: `Coverage over ${ROLLING_DATES} dates ranged from ${ending(low)} to ${ending(high)}; ${nominalIs}.`,
    ...linesOverDates({
      title,
      unit: "share",
      days,
      lines: [["coverage", `coverage over the last ${ROLLING_DATES} dates`, coverage]],
      marks: [level(nominal, nominalIs)],
      columns: [["Coverage", "share", coverage]],
    }),
  };
}

function groupsPanel(
  panel: Pick<ReportPanel, "title" | "tab" | "sentence">,
  names: readonly string[],
  groups: readonly Coverage[],
  [other, theirs]: readonly [name: string, coverage: readonly (number | null)[]],
  { method, nominal, nominalIs }: Covered,
  unit: readonly [group: string, meaning: string],
): ReportPanel {
  const count = theirs.length > 0 ? 2 : 1;
  return {
    ...panel,
    chart: {
      x: { names },
      y: { unit: "share", within: [nominal] },
      marks: [
        columnsOf(
          "bar",
          groups.map(({ coverage }) => coverage),
          { base: nominal, count, meaning: `${method}, ${unit[1]}` },
        ),
        columnsOf("bar second", theirs, { base: nominal, place: 1, count, meaning: other }),
        level(nominal, nominalIs),
      ],
    },
    numbers: numbers({
      name: panel.title,
      rows: groups,
      columns: [
        [unit[0], "text", (_, i) => names[i]!],
        ["Rows", "count", ({ n }) => n],
        ["Coverage", "share", ({ coverage }) => coverage],
        ["Mean width", "share", ({ mean_width }) => mean_width],
      ],
    }),
  };
}

/** Of the tenths of each ticker's rows by volatility; none if the output does not have it for the rows of the report. */
function volatilityPanels(covered: Covered): ReportPanel[] {
  const { intervals, table, nominalIs, evidence } = covered;
  const { by_volatility: tenths = [], other_methods = {}, method, pooled } = intervals;
  const [quiet, wild] = [tenths[0]?.coverage, tenths.at(-1)?.coverage];
  if (quiet == null || wild == null || table.pooled.n !== pooled.n) return [];
  const [other] = Object.entries(other_methods).filter(([, each]) => each.by_volatility !== undefined);
  const feedback =
    method !== "adaptive" || evidence.dateCount < MIN_DATES
      ? ""
      : ` The overall coverage of ${figure(pooled.coverage, "share")} follows in the long run by construction, because adaptive intervals react to misses; judge them by these tenths.`;
  return [
    groupsPanel(
      {
        title: "Coverage by volatility",
        tab: { card: "coverage", label: "By volatility" },
        sentence: `Coverage was ${figure(quiet, "share")} on the tenth of days with the lowest volatility and ${figure(wild, "share")} on the tenth with the highest; ${nominalIs}.${feedback}`,
      },
      tenths.map((_, i) => String(i + 1)),
      tenths,
      [other?.[0] ?? "", other?.[1].by_volatility?.map(({ coverage }) => coverage) ?? []],
      covered,
      ["Tenth", "by tenths of each ticker\u2019s days; 1 is the quietest"],
    ),
  ];
}

function yearsPanels(covered: Covered): ReportPanel[] {
  const { table, intervals, nominalIs } = covered;
  const years = Object.entries(table.pooled.by_year ?? {})
    .map(([year, coverage]) => ({ year: Number(year), ...coverage }))
    .sort((a, b) => a.year - b.year);
  const { long, note } = longYears(years, "row");
  if (long.length === 0) return [];
  const [worst] = extremes(long, ({ coverage }) => coverage ?? Number.POSITIVE_INFINITY);
  const found =
    long.length === 1
      ? `Coverage in ${worst.year} was ${figure(worst.coverage, "share")}`
      : `The lowest of ${countedRows(long.length, "year")} was ${worst.year}, with a coverage of ${figure(worst.coverage, "share")}`;
  const [other] = Object.entries(intervals.other_methods ?? {}).filter(
    ([, { pooled }]) => pooled.by_year !== undefined,
  );
  return [
    groupsPanel(
      {
        title: "Coverage by year",
        tab: { card: "coverage", label: "By year" },
        sentence: `${found}; ${nominalIs}.${note}`,
      },
      long.map(({ year }) => String(year)),
      long,
      [
        other?.[0] ?? "",
        other === undefined ? [] : long.map(({ year }) => other[1].pooled.by_year?.[year]?.coverage ?? null),
      ],
      covered,
      ["Year", "by year"],
    ),
  ];
}

/** Returns outside their interval, and what the other methods would have given on the same rows. */
function missesPanel({ evidence, intervals, method, table: held, nominal }: Covered): ReportPanel {
  const { bound } = intervals;
  let [below, above] = [0, 0];
  for (const { realised, lower, upper } of evidence.rows) {
    for (let i = 0; i < realised.length; i++) {
      if (realised[i]! < lower[i]!) below++;
      if (realised[i]! > upper[i]!) above++;
    }
  }
  const { n } = held.pooled;
  const sides: string[] = [];
  if (bound !== "upper") sides.push(`${figure(below / n, "share")} of returns fell below their interval`);
  if (bound !== "lower") sides.push(`${figure(above / n, "share")} of returns rose above their interval`);
  const { dates, half_missed: half } = held.joint_misses;
  const together =
    dates === 0
      ? ""
      : ` On ${half} of ${countedRows(dates, "date")}, at least half of the tickers missed their interval.`;
  const methods = [
    [method, intervals, 1] as const,
    ...Object.entries(intervals.other_methods ?? {}).map(
      ([name, other]) => [name, other, other.score_ratio] as const,
    ),
  ];
  const ratios =
    methods.length > 1
      ? ` The score ratio is the interval score of ${method} intervals divided by that of the method: below 1, ${method} intervals are better.`
      : "";
  return {
    title: methods.length > 1 ? "Misses and other interval methods" : "Misses",
    sentence: `${sides.join(" and ")}; ${figure((1 - nominal) / sides.length, "share")} is nominal on ${sides.length === 1 ? "this" : "each"} side.${together}${ratios}`,
    body:
      methods.length > 1 &&
      table({
        name: "interval methods on the same rows",
        rows: methods,
        columns: [
          ["Method", "text", ([name]) => name],
          ["Coverage", "share", ([, { pooled }]) => pooled.coverage],
          [
            "Lowest ticker",
            "share",
            ([, { by_ticker }]) =>
              Math.min(...Object.values(by_ticker).flatMap(({ coverage }) => coverage ?? [])),
          ],
          ["Mean width", "share", ([, { pooled }]) => pooled.mean_width],
          ["Score ratio", "ratio", ([, , ratio]) => ratio],
        ],
      }),
  };
}
