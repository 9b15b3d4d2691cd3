import { mean } from "../../evaluate/statistics.ts";
import { type Band, meanBand } from "./over-dates.ts";
import type { Replaced } from "./turnover.ts";

/** A spread minus its trading costs, on the dates that have both a spread and a turnover. */
export interface SpreadAfterCosts {
  readonly dates: number;
  /** The mean amount traded per date, buying and selling, as a share of what one end holds. */
  readonly traded: number;
  /** The cost per side that uses up the whole spread; below 0 without a spread. */
  readonly breakEven: number;
  /** One entry per given cost. */
  readonly nets: readonly { readonly cost: number; readonly mean: number; readonly band: Band | null }[];
}

/**
 * The spread of a date minus cost x traded. A replaced share f of an end is sold and bought, so traded = 2 (f of the top + f of the
 * bottom): both ends hold the same weights and trade at the close. Trades that restore the weights after prices move are not counted.
 * @param costs per side, as shares of the traded amount.
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
