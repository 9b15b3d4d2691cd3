import type { Day } from "../../contract/market/dates.ts";
import { MIN_ORDER_TICKERS } from "../../contract/output/later-close.ts";
import type { RowsVerdict, Verdict } from "../../contract/output/verdict.ts";
import type { ForecastRows } from "../../evaluate/forecast-rows.ts";
import { type ForecastTable, forecastTable, tableRows } from "../../evaluate/forecast-table.ts";
import { type CoverageTable, coverageByDate, coverageTable } from "../../evaluate/intervals/coverage.ts";
import { datesWith, type RowsByDate, sortedByDate } from "../../evaluate/rows-by-date.ts";
import type { OutputDocument } from "../../outputs/open-document.ts";
import { modelNameOf, type OutputSummary } from "../../outputs/output-summary.ts";
import type { ScoredRows } from "../../outputs/scored-rows.ts";
import { type Band, bandOf } from "../statistics/over-dates.ts";

/** The rows whose forecasts are judged, in words. */
export const JUDGED_ROWS = { score: "score rows", out_of_fold: "out-of-fold rows" } as const;

export interface OutputEvidence extends RowEvidence {
  readonly judgedRows: keyof typeof JUDGED_ROWS;
  readonly source: string;
  readonly sha256: string;
  readonly document: OutputSummary;
  readonly modelName: string;
  readonly outOfFold: OutputDocument["outOfFold"];
  /** The verdict on the forecasts; undefined without a ticker. */
  readonly verdict: Verdict | undefined;
}

interface RowEvidence {
  /** Tickers ascending by code point. */
  readonly rows: readonly ScoredRows[];
  /** The rows with a label, in the same order, without tickers that have none. */
  readonly labelled: readonly ForecastRows[];
  readonly byDate: RowsByDate;
  /** Distinct dates with a label. */
  readonly dateCount: number;
  readonly table: ForecastTable;
  readonly dates: DateSkill;
  readonly coverage: CoverageTable | undefined;
  /** How many intervals of each date contained the return. */
  readonly coverageDates: ReturnType<typeof coverageByDate>;
}

/** IC and RankIC of the dates that count for the verdict, ascending: shape (n) each. */
interface DateSkill {
  readonly days: Int32Array;
  readonly ic: Float64Array;
  readonly rankIc: Float64Array;
}

/** The verdict's findings on the rows of the evidence; of networks judged before the cut, those of the headline, whose rows are not recorded. */
export function judgedSet({ verdict, judgedRows }: OutputEvidence): RowsVerdict | undefined {
  const [headline] = verdict?.judged ?? [];
  const isRecorded = headline !== undefined && Object.hasOwn(JUDGED_ROWS, headline.rows);
  return isRecorded ? verdict?.judged.find(({ rows }) => rows === judgedRows) : headline;
}

export function outputEvidence(output: OutputDocument): OutputEvidence {
  const { name, sha256, document, rows, outOfFold } = output;
  return {
    source: name,
    sha256,
    document,
    modelName: modelNameOf(document),
    outOfFold,
    verdict: document.verdict,
    judgedRows: "score",
    ...rowEvidence(rows, document.metrics.intervals?.alpha),
  };
}

export function spanOf({ labelled }: OutputEvidence): readonly [first: Day, last: Day] | undefined {
  const days = labelled.flatMap((row) => (row.days.length === 0 ? [] : [row.days[0]!, row.days.at(-1)!]));
  return days.length === 0 ? undefined : [Math.min(...days), Math.max(...days)];
}

/** The slope of returns on forecasts over held-out rows with dates as units, and its 90 % band; of older outputs, that over rows. */
export function slopeOf({ metrics: { shrinkage }, verdict }: OutputSummary): {
  readonly value: number | null;
  readonly band: Band | null;
} {
  const { b, se } = shrinkage?.by_date ?? { b: shrinkage?.pooled.b ?? null, se: null };
  const dates = verdict?.judged.find(({ rows }) => rows !== "score")?.sizes.dates ?? 0;
  return { value: b, band: bandOf(b, se, dates, 0.95) };
}

/**
 * The same output, judged on its out-of-fold rows if no score row has a realised return yet, as in a daily run. Their forecasts are the
 * model's own, without shrinkage, and have no interval.
 */
export function withLabels(evidence: OutputEvidence): OutputEvidence {
  return evidence.dateCount > 0 ? evidence : (onOutOfFoldRows(evidence) ?? evidence);
}

/** The same output, judged on its out-of-fold rows; undefined if it has none. */
export function onOutOfFoldRows(evidence: OutputEvidence): OutputEvidence | undefined {
  const tested = (evidence.outOfFold ?? []).filter(({ days }) => days.length > 0);
  if (tested.length === 0) return undefined;
  const rows = tested.map((row) => {
    const unknown = new Float64Array(row.days.length).fill(Number.NaN);
    return { ...row, lower: unknown, upper: unknown };
  });
  return { ...evidence, judgedRows: "out_of_fold", ...rowEvidence(rows, undefined) };
}

/** @param alpha of the intervals; undefined without intervals. */
export function rowEvidence(rows: readonly ScoredRows[], alpha: number | undefined): RowEvidence {
  const tickers = tableRows(rows);
  const byDate = sortedByDate(tickers);
  const skills: { day: number; ic: number; rankIc: number }[] = [];
  const table = forecastTable(tickers, undefined, (day, correlations, count) => {
    // As the verdict counts them, so that the mean of the charts is its IC.
    if (count >= MIN_ORDER_TICKERS) skills.push({ day, ...correlations });
  });
  // Without the returns before a row, no day counts as a day of high volatility.
  const covered = rows.map((row) => ({
    ...row,
    volatility: new Float64Array(row.days.length).fill(Number.NaN),
  }));
  return {
    rows,
    labelled: tickers,
    byDate,
    dateCount: [...datesWith(byDate)].length,
    table,
    dates: {
      days: Int32Array.from(skills, ({ day }) => day),
      ic: Float64Array.from(skills, ({ ic }) => ic),
      rankIc: Float64Array.from(skills, ({ rankIc }) => rankIc),
    },
    coverageDates: coverageByDate(rows),
    coverage: alpha === undefined ? undefined : coverageTable(covered, alpha),
  };
}

export const NO_FOLDS =
  "Networks record no out-of-fold rows, and for the calibration rows they record only the figures of the verdict, so no chart can show them.";

export function whyNoLabels({ rows, document }: OutputEvidence): string {
  if (document.warnings.some(({ code }) => code === "disabled")) {
    return "The job was disabled in its config, so there are no forecasts.";
  }
  if (rows.length === 0) return "The output has no forecasts.";
  return `No realised return is known for these forecasts yet.${document.operation === "run_dl_job" ? ` ${NO_FOLDS}` : ""}`;
}

export function whyNoOrder(evidence: OutputEvidence): string {
  if (evidence.dateCount === 0) return whyNoLabels(evidence);
  if (evidence.rows.length < MIN_ORDER_TICKERS) {
    return `An order across tickers needs at least ${MIN_ORDER_TICKERS} of them; the output has ${evidence.rows.length}.`;
  }
  return `No date has ${MIN_ORDER_TICKERS} tickers whose forecasts and returns differ.`;
}
