import type { OutputChoice } from "../../contract/output/choice.ts";
import { type Band, bandFromT, datesQuantile, meanMethod } from "../../contract/output/test-quantile.ts";

/** The 90 % band of a recorded gain: above 0 if a one-sided test at 5 % finds the gain. */
export function gainBand(
  { method, losses }: Pick<OutputChoice, "method" | "losses">,
  { gain, gain_t: t }: Pick<OutputChoice["honest"], "gain" | "gain_t">,
): Band | null {
  const dates = losses.gains?.filter((value) => value !== null).length ?? losses.dates.length;
  // Outputs of 0.2.0 name no method.
  return bandFromT(gain, t, datesQuantile(method === undefined ? undefined : meanMethod(dates), dates, 0.95));
}
