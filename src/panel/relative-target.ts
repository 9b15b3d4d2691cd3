import type { Pausable } from "../contract/machine/pausable.ts";
import type { Day } from "../contract/market/dates.ts";
import { compareCodePoints } from "../contract/market/ticker-order.ts";
import { orderByDates } from "./row-order.ts";
import type { PanelRows } from "./ticker-panel.ts";

/** A date needs so many labelled tickers for its mean to stand for the market. */
export const MIN_DATE_TICKERS = 5;

/** Targets beyond so many volatilities are cut off: one crash or takeover would otherwise weigh as much as a year. */
export const MAX_TARGET = 5;

/** What models learn with target `relative`, and how their predictions become returns again. */
export interface RelativeTargets {
  /** By ticker, shape (rows): NaN where the row teaches nothing. */
  readonly byTicker: ReadonlyMap<string, Float64Array>;
  readonly levels: Levels;
  /** Dates with a label, but with too few of them to have a mean. */
  readonly thinDates: number;
}

/** The part of one ticker. */
export interface RelativeTarget {
  /** Shape (rows): NaN where the row teaches nothing. */
  readonly values: Float64Array;
  readonly levels: Levels;
}

/** Means of the labels that teach, over all tickers. */
export interface Levels {
  /** The mean of the labels that are known at the close of `day`; NaN where there is none. */
  knownAt(day: Day): number;
  /** The mean of all labels before the cut. */
  readonly final: number;
}

type LabelledRows = Pick<PanelRows, "ticker" | "days" | "labelDays" | "y" | "volatility" | "fit">;

/**
 * The target of a fit row of date d: (y - m) / v, within [-MAX_TARGET, MAX_TARGET]. v is the ticker's volatility known at d; m is the mean
 * label of date d over the tickers whose label is known by the time the row's own is. So no target depends on a label that comes later
 * than its own. A row teaches nothing where fewer than MIN_DATE_TICKERS labels make its mean, or v is 0 or not known.
 * @param panels in any order; the targets are the same to the bit.
 */
export function* relativeTargets(panels: readonly LabelledRows[]): Pausable<RelativeTargets> {
  const rows = yield* fitRowsByDate(panels);
  const byTicker = new Map(
    panels.map(({ ticker, days }) => [ticker, new Float64Array(days.length).fill(Number.NaN)]),
  );
  const learned: { readonly labelDay: Day; readonly y: number }[] = [];
  let thinDates = 0;
  for (const date of rows) {
    yield 0;
    if (date.length < MIN_DATE_TICKERS) thinDates++;
    let [sum, count] = [0, 0];
    for (let from = 0; from < date.length; ) {
      const { labelDay } = date[from]!;
      let to = from;
      for (; to < date.length && date[to]!.labelDay === labelDay; to++) sum += date[to]!.y;
      count = to;
      const known = date.slice(from, to);
      from = to;
      if (count < MIN_DATE_TICKERS) continue;
      for (const { panel, row, y } of known) {
        const target = (y - sum / count) / panel.volatility[row]!;
        if (!Number.isFinite(target)) continue;
        byTicker.get(panel.ticker)![row] = Math.max(-MAX_TARGET, Math.min(MAX_TARGET, target));
        learned.push({ labelDay, y });
      }
    }
  }
  return { byTicker, levels: levelsOf(learned), thinDates };
}

interface FitRow {
  readonly panel: LabelledRows;
  readonly row: number;
  readonly labelDay: Day;
  readonly y: number;
}

/** The fit rows of each date, ascending by the date of their label, then by ticker. */
function* fitRowsByDate(panels: readonly LabelledRows[]): Pausable<FitRow[][]> {
  const ascending = panels.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
  const flat: FitRow[] = [];
  for (const panel of ascending) {
    yield 0;
    for (const row of panel.fit) {
      flat.push({ panel, row, labelDay: panel.labelDays[row]!, y: panel.y[row]! });
    }
  }
  const dayOf = ({ panel, row }: FitRow) => panel.days[row]!;
  const order = orderByDates(
    flat.map(dayOf),
    flat.map(({ labelDay }) => labelDay),
  );
  yield 0;
  const dates: FitRow[][] = [];
  for (const i of order) {
    const row = flat[i]!;
    const last = dates.at(-1);
    if (last !== undefined && dayOf(last[0]!) === dayOf(row)) last.push(row);
    else dates.push([row]);
  }
  return dates;
}

function levelsOf(learned: readonly { readonly labelDay: Day; readonly y: number }[]): Levels {
  const ascending = learned.toSorted((a, b) => a.labelDay - b.labelDay);
  const sums = new Float64Array(ascending.length);
  let sum = 0;
  for (const [i, { y }] of ascending.entries()) {
    sum += y;
    sums[i] = sum;
  }
  const mean = (count: number) => (count === 0 ? Number.NaN : sums[count - 1]! / count);
  return {
    final: mean(ascending.length),
    knownAt(day) {
      let [from, to] = [0, ascending.length];
      while (from < to) {
        const middle = (from + to) >> 1;
        if (ascending[middle]!.labelDay <= day) from = middle + 1;
        else to = middle;
      }
      return mean(from);
    },
  };
}
