import { MIN_TICKERS } from "../../evaluate/rows-by-date.ts";
import type { OutputEvidence } from "./output-evidence.ts";

/** The reason why there are no labelled rows. */
export function whyNoLabels({ rows, document }: OutputEvidence): string {
  if (document.warnings.some(({ code }) => code === "disabled")) {
    return "The job was disabled in its config, so there are no forecasts.";
  }
  if (rows.length === 0) return "The output has no forecasts.";
  return "No realised return is known for these forecasts yet.";
}

/** The reason why no date has a correlation across tickers. */
export function whyNoOrder(evidence: OutputEvidence): string {
  if (evidence.dateCount === 0) return whyNoLabels(evidence);
  if (evidence.rows.length < MIN_TICKERS) {
    return `An order needs at least ${MIN_TICKERS} tickers; the output has ${evidence.rows.length}.`;
  }
  return `No date has ${MIN_TICKERS} tickers whose forecasts and returns differ.`;
}
