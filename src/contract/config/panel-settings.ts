import { z } from "zod";

/** What models learn: the next return, or its z-score among the tickers of its date. Our addition. */
export const TARGETS = ["return", "relative"] as const;
export type Target = (typeof TARGETS)[number];

/** What both jobs do to the rows of all tickers before anything is fitted. Our addition. */
export interface PanelSettings {
  readonly target: Target;
  readonly crossSection: boolean;
}

export const targetSchema = z
  .enum(TARGETS)
  .default("return")
  .describe(
    "return: models learn the next-day log-return. relative: models learn the return's z-score among the tickers of its date; forecasts are still returns.",
  );

export const crossSectionSchema = z
  .boolean()
  .default(false)
  .describe("Adds to each feature its z-score among the tickers that have it on the same date.");

/**
 * The settings as an output records them: those that differ from the defaults, so that an output of a config without them stays as it was
 * before they existed.
 */
export function recordedPanelSettings({
  target,
  crossSection,
}: PanelSettings): Record<string, string | boolean> {
  return {
    ...(target === "return" ? {} : { target }),
    ...(crossSection ? { cross_section: true } : {}),
  };
}
