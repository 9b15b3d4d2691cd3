import type { Day } from "../contract/market/dates.ts";
import type { ForecastRows } from "./forecast-rows.ts";
import { type ForecastTable, forecastTable, tableRows } from "./forecast-table.ts";

/** Metrics of the labelled score rows of one block. */
export interface BlockSkill {
  /** The last date with a score row, labelled or not; the first date of the block if it has none. */
  readonly end: Day;
  /** The number of tickers with a score row. */
  readonly tickers: number;
  readonly table: ForecastTable;
}

/**
 * The metrics of each block of dates.
 * @param rows tickers in any order, score rows ascending by date.
 * @param starts first dates of the blocks, ascending; rows before the first belong to none.
 */
export function blockSkills(rows: readonly ForecastRows[], starts: readonly Day[]): BlockSkill[] {
  const cursors = rows.map(() => 0);
  const found: BlockSkill[] = [];
  for (const [b, start] of starts.entries()) {
    const next = starts[b + 1] ?? Number.POSITIVE_INFINITY;
    const own: ForecastRows[] = [];
    let end = start;
    for (const [i, row] of rows.entries()) {
      const from = cursors[i]!;
      let to = from;
      while (to < row.days.length && row.days[to]! < next) to++;
      cursors[i] = to;
      if (to === from) continue;
      end = Math.max(end, row.days[to - 1]!);
      own.push(part(row, from, to));
    }
    found.push({ end, tickers: own.length, table: forecastTable(tableRows(own)) });
  }
  return found;
}

function part(
  { ticker, days, predicted, realised, trainingMean, ranked }: ForecastRows,
  from: number,
  to: number,
): ForecastRows {
  return {
    ticker,
    days: days.subarray(from, to),
    predicted: predicted.subarray(from, to),
    realised: realised.subarray(from, to),
    trainingMean: trainingMean.subarray(from, to),
    ...(ranked && { ranked: ranked.subarray(from, to) }),
  };
}
