import { type Day, formatDay, parseDay } from "../../../contract/market/dates.ts";
import { neweyWestT } from "../../../evaluate/newey-west.ts";
import { mean } from "../../../evaluate/statistics.ts";
import type { OutputSummary } from "../../../outputs/output-summary.ts";
import type { OutputEvidence } from "../../evidence/output-evidence.ts";
import { histogram } from "../../statistics/histogram.ts";
import { type AgeSkill, skillByAge } from "../../statistics/model-age.ts";
import { noSkillFunnel, noSkillMean } from "../../statistics/no-skill-funnel.ts";
import { months, type Period, years } from "../../statistics/periods.ts";
import { cumulative, rollingMean } from "../../statistics/running-sums.ts";
import { countedRows, figure, wholePercent } from "../figures.ts";
import type { Part } from "../report-data.ts";
import type { DailyCorrelation, PeriodSkill, SkillOverTime } from "../section-data.ts";
import { whyNoOrder } from "./why-absent.ts";

/** About a quarter of a year. */
export const ROLLING_DATES = 63;

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
  const byAge = rankIcByAge(evidence, refits);
  const byYear = years(days).map(skillOf);
  const byMonth = months(days).map((period) => ({ ...skillOf(period), month: period.month }));
  return {
    data: {
      days,
      ic: correlationOverTime("IC", ic, days),
      rankIc: correlationOverTime("RankIC", rankIc, days),
      refits,
      ...(byAge === undefined ? {} : { byAge }),
      rollingDates: ROLLING_DATES,
      years: byYear,
      months: byMonth,
      yearsFinding: periodsFinding("year", byYear, (skill) => String(skill.year)),
      monthsFinding: periodsFinding(
        "month",
        byMonth,
        ({ year, month }) => `${year}-${String(month).padStart(2, "0")}`,
      ),
    },
  };
}

/** The first dates of all blocks except the first block. */
function refitDays({ refits }: OutputSummary): Day[] {
  return refits?.blocks.slice(1).flatMap(({ start }) => parseDay(start) ?? []) ?? [];
}

function rankIcByAge(
  { document, dates, rows }: OutputEvidence,
  refits: readonly Day[],
): SkillOverTime["byAge"] {
  const every = document.model.refit_every;
  if (typeof every !== "number" || !(every >= 1) || refits.length === 0) return undefined;
  const distinct = new Set(rows.flatMap((row) => [...row.days]));
  const forecastDays = Int32Array.from(distinct).sort();
  const bins = skillByAge(dates.days, dates.rankIc, { forecastDays, refits, every });
  if (bins.length < 2) return undefined;
  const [first, last] = [bins[0]!, bins.at(-1)!];
  const told = `The mean RankIC of forecasts made ${agesOf(first)} after a fit was ${figure(first.mean, "number")}, and of those made ${agesOf(last)} after it ${figure(last.mean, "number")}`;
  const judged = bins.every(({ band }) => band === null)
    ? "there are too few dates for a band"
    : "differences within the bands are no evidence that the models age";
  return { bins, finding: `${told}; ${judged}.` };
}

function agesOf({ from, to }: AgeSkill): string {
  return from === to ? countedRows(from, "date") : `${from} to ${countedRows(to, "date")}`;
}

function correlationOverTime(name: string, values: Float64Array, days: Int32Array): DailyCorrelation {
  const rolling = rollingMean(values, ROLLING_DATES);
  const rollingFunnel = values.length < ROLLING_DATES ? Number.NaN : noSkillMean(values, ROLLING_DATES);
  const [sums, funnel] = [cumulative(values), noSkillFunnel(values)];
  const centre = mean(values);
  return {
    values,
    cumulative: sums,
    funnel,
    rolling,
    rollingFunnel,
    histogram: histogram(values),
    mean: centre,
    t: neweyWestT(values),
    finding: sumFinding(name, sums.at(-1)!, funnel.at(-1)!, values.length),
    rollingFinding: rollingFinding(name, rolling, rollingFunnel, days),
    histogramFinding: signFinding(name, values, centre),
  };
}

function sumFinding(name: string, sum: number, funnel: number, dates: number): string {
  const total = `The ${name} adds up to ${figure(sum, "number")} over ${countedRows(dates, "date")}`;
  if (Number.isNaN(funnel)) return `${total}; there are too few figures for a no-skill band.`;
  const band = `the ${wholePercent(95)} no-skill band of ±${figure(funnel, "number")}`;
  if (Math.abs(sum) <= funnel) return `${total}, inside ${band}: no evidence of skill.`;
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
  const range = `from ${figure(rolling[low]!, "number")} (ending ${formatDay(days[low]!)}) to ${figure(rolling[high]!, "number")} (ending ${formatDay(days[high]!)})`;
  const share = figure(outside / (rolling.length - first), "share");
  const left = Number.isNaN(funnel)
    ? ""
    : `; ${share} of these means are outside the no-skill band (${wholePercent(5)} expected without skill)`;
  return `The mean ${name} over ${ROLLING_DATES} dates ranged ${range}${left}.`;
}

function signFinding(name: string, values: Float64Array, centre: number): string {
  const above = values.filter((value) => value > 0).length;
  return `The ${name} was above 0 on ${figure(above / values.length, "share")} of ${countedRows(values.length, "date")}, with a mean of ${figure(centre, "number")}.`;
}

function periodsFinding<T extends PeriodSkill>(
  unit: string,
  periods: readonly T[],
  nameOf: (period: T) => string,
): string {
  const good = periods.filter(({ rankIc }) => rankIc > 0).length;
  const long = periods.filter(({ dates }) => dates >= MIN_PERIOD_DATES);
  const all = `The mean RankIC was above 0 in ${figure(good, "count")} of ${countedRows(periods.length, unit)}`;
  if (long.length === 0) return `${all}.`;
  const best = long.reduce((a, b) => (b.rankIc > a.rankIc ? b : a));
  const worst = long.reduce((a, b) => (b.rankIc < a.rankIc ? b : a));
  if (long.length === 1) return `${all}: ${figure(best.rankIc, "number")} in ${nameOf(best)}.`;
  return `${all}, best in ${nameOf(best)} (${figure(best.rankIc, "number")}) and worst in ${nameOf(worst)} (${figure(worst.rankIc, "number")}).`;
}
