import { counted } from "../../contract/errors/wording.ts";
import { formatDay } from "../../contract/market/dates.ts";
import type { AuditFacts } from "../../contract/output/audit-blob.ts";
import { finiteOrNull } from "../../evaluate/statistics.ts";
import type { ChangeTally, LargestChange } from "./change-tally.ts";
import type { ChangedDays } from "./common-days.ts";

/** How many values, tickers and dates changed, and since when. */
export function extent({ values, tickers, days, examples, reach }: ChangeTally): AuditFacts {
  return { values, tickers, ...datesOf(days), reach_rows: reach, examples };
}

/** By how much numbers changed: absolute, relative to the earlier value, and in deviations of their column. */
export function size({ values, absolute, deviations, largest }: ChangeTally): AuditFacts {
  return {
    mean_absolute: finiteOrNull(absolute / values),
    mean_deviations: finiteOrNull(deviations / values),
    largest: largest === undefined ? null : largestChange(largest),
  };
}

function largestChange({ ticker, day, before, after, deviation }: LargestChange): AuditFacts {
  const absolute = Math.abs(after - before);
  return {
    ticker,
    date: formatDay(day),
    before,
    after,
    absolute: finiteOrNull(absolute),
    relative: finiteOrNull(absolute / Math.abs(before)),
    deviations: finiteOrNull(absolute / deviation),
  };
}

/** The factors of a few tickers, each with the date from which it applies. */
export function factors({ factors }: ChangeTally): AuditFacts {
  return {
    factors: factors.map(({ ticker, steps }) => ({
      ticker,
      steps: steps.map(({ day, factor }) => ({ from: formatDay(day), factor })),
    })),
  };
}

export function datesOf(days: ChangedDays): AuditFacts {
  return { dates: days.size, first: formatDay(days.first), last: formatDay(days.last) };
}

/** The extent in words, such as `12 values of 2 tickers on 6 dates from 2023-01-02 to 2023-01-09`. */
export function extentText({ values, tickers, days }: ChangeTally): string {
  return `${counted(values, "value")} of ${counted(tickers, "ticker")} ${datesText(days)}`;
}

export function datesText(days: ChangedDays): string {
  const first = formatDay(days.first);
  return days.size === 1 ? `on ${first}` : `on ${days.size} dates from ${first} to ${formatDay(days.last)}`;
}

/** The size in words, such as `by 0.12 deviations on average and 3.4 at most`. */
export function sizeText({ values, deviations, absolute, largest }: ChangeTally): string {
  const most =
    largest === undefined ? Number.NaN : Math.abs(largest.after - largest.before) / largest.deviation;
  const mean = deviations / values;
  if (!Number.isFinite(mean) || !Number.isFinite(most)) return `by ${short(absolute / values)} on average`;
  return `by ${short(mean)} deviations on average and ${short(most)} at most`;
}

/** A number of two or three digits. */
export function short(value: number): string {
  return String(Number(value.toPrecision(3)));
}
