import { mean } from "../../evaluate/statistics.ts";
import { type Band, meanBand } from "./over-dates.ts";
import type { Replaced } from "./turnover.ts";

/** A spread less what trading it costs, on the dates that have both a spread and a turnover. */
export interface SpreadAfterCosts {
  readonly dates: number;
  /** Mean of what is traded a date, buying and selling, as a share of what one end holds. */
  readonly traded: number;
  /** The cost a side that uses the whole spread up; below 0 where there is no spread. */
  readonly breakEven: number;
  /** One for each cost asked for. */
  readonly nets: readonly { readonly cost: number; readonly mean: number; readonly band: Band | null }[];
}

/**
 * The spread of a date less cost x traded. A share f of an end that is replaced is sold and bought, so traded = 2 (f of the top + f of the
 * bottom): holdings of the same weight at both ends, traded at the close, without what it takes to bring weights back after they drift.
 * @param costs a side, as shares of what is traded.
 * @returns undefined without a date that has both.
 */
export function spreadAfterCosts(
  { days, values }: { readonly days: Int32Array; readonly values: Float64Array },
  replaced: Replaced,
  costs: readonly number[],
): SpreadAfterCosts | undefined {
  const place = new Map(Array.from(replaced.days, (day, i) => [day, i]));
  const gross: number[] = [];
  const traded: number[] = [];
  for (const [i, day] of days.entries()) {
    const at = place.get(day);
    if (at === undefined) continue;
    gross.push(values[i]!);
    traded.push(2 * (replaced.top[at]! + replaced.bottom[at]!));
  }
  if (gross.length === 0) return undefined;
  const meanTraded = mean(Float64Array.from(traded));
  return {
    dates: gross.length,
    traded: meanTraded,
    breakEven: mean(Float64Array.from(gross)) / meanTraded,
    nets: costs.map((cost) => {
      const net = Float64Array.from(gross, (value, i) => value - cost * traded[i]!);
      return { cost, mean: mean(net), band: meanBand(net) };
    }),
  };
}
