import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { MIN_ORDER_TICKERS } from "../../contract/output/later-close.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { concatenate } from "../../evaluate/forecast-rows.ts";
import { commonLevels, levelsAt } from "../../evaluate/levels.ts";
import { smoothForecasts } from "../../evaluate/smoothing.ts";
import type { FitOutcome } from "../plan.ts";

/** @throws MucastError few_tickers, before anything is fitted, if no date can be smoothed. */
export function requireSmoothable(tickers: number, halfLife: number | undefined): void {
  if (halfLife === undefined || tickers >= MIN_ORDER_TICKERS) return;
  const message = `smoothing compares at least ${MIN_ORDER_TICKERS} tickers on a date, and ${counted(tickers, "ticker")} can be fitted; add tickers, or leave smoothing out`;
  throw new MucastError("few_tickers", message);
}

/**
 * The outcome with smoothed forecasts. Held-out and score rows are one stream; a network's validation part, which chose its epochs, is none
 * of it.
 */
export function smoothTickers(fits: FitOutcome, halfLife: number | undefined): FitOutcome {
  if (halfLife === undefined) return fits;
  const heldOut = commonLevels(fits.tickers.map((own) => ({ ...own.heldOut, days: own.residuals.days })));
  const scored = commonLevels(fits.tickers.map(({ ticker, score }) => ({ ...score, ticker })));
  const { smoothed, thinDates } = smoothForecasts(
    fits.tickers.map(({ residuals, score }) => ({
      days: Int32Array.from([...residuals.days, ...score.days]),
      predicted: concatenate([residuals.predicted, score.predicted]),
      levels: concatenate([levelsAt(heldOut, residuals.days), levelsAt(scored, score.days)]),
    })),
    halfLife,
  );
  const tickers = fits.tickers.map((own, t) => {
    const { heldOut, residuals, score } = own;
    const before = residuals.days.length;
    const predicted = smoothed[t]!.subarray(0, before);
    return {
      ...own,
      // Without residuals, they are the validation part.
      heldOut: before === 0 ? heldOut : { ...heldOut, predicted },
      residuals: { ...residuals, predicted },
      score: { ...score, predicted: smoothed[t]!.subarray(before) },
    };
  });
  return { ...fits, tickers, warnings: [...fits.warnings, ...thin(thinDates)] };
}

function thin(count: number): Warning[] {
  const message = `${counted(count, "date")} with forecasts of fewer than ${MIN_ORDER_TICKERS} tickers ${count === 1 ? "is" : "are"} not smoothed.`;
  return count === 0 ? [] : [{ code: "thin_dates", message, count }];
}
