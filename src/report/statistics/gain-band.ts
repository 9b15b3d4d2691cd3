import type { OutputChoice } from "../../contract/output/choice.ts";
import { meanMethod, testQuantile } from "../../evaluate/mean-test.ts";
import { MIN_DATES } from "../../evaluate/newey-west.ts";
import type { Band } from "./over-dates.ts";

/** The 90 % band of a recorded gain: above 0 if a one-sided test at 5 % finds the gain. */
export function gainBand(
  { method, losses }: Pick<OutputChoice, "method" | "losses">,
  { gain, gain_t: t }: Pick<OutputChoice["honest"], "gain" | "gain_t">,
): Band | null {
  const dates = losses.gains?.filter((value) => value !== null).length ?? losses.dates.length;
  if (gain === null || t === null || t === 0 || dates < MIN_DATES) return null;
  // Outputs of 0.2.0 name no method.
  const half =
    Math.abs(gain / t) * testQuantile(method === undefined ? undefined : meanMethod(dates), dates, 0.95);
  return { low: gain - half, high: gain + half };
}
