import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { MIN_ORDER_TICKERS } from "../../contract/output/later-close.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { concatenate } from "../../evaluate/forecast-rows.ts";
import { commonLevels, levelsAt } from "../../evaluate/levels.ts";
import { smoothForecasts } from "../../evaluate/smoothing.ts";
import { countBefore } from "../../panel/rows.ts";
import type { FitOutcome } from "../plan.ts";

/** @throws MucastError few_tickers, before anything is fitted, if tickers can be fitted but no date can be smoothed. */
export function requireSmoothable(tickers: number, halfLife: number | undefined): void {
  if (halfLife === undefined || tickers === 0 || tickers >= MIN_ORDER_TICKERS) return;
  const message = `smoothing compares at least ${MIN_ORDER_TICKERS} tickers on a date, and ${counted(tickers, "ticker")} can be fitted; add tickers, or leave smoothing out`;
  throw new MucastError("few_tickers", message);
}

/**
 * The outcome with smoothed forecasts. Held-out and score rows are one stream; a network's validation part, which chose its epochs, is none
 * of it. Nor are score rows among the dates of held-out rows, of tickers whose prices have a gap or end there: the model that forecasts them
 * knows later labels than those that forecast the others of their dates.
 */
export function smoothTickers(fits: FitOutcome, halfLife: number | undefined): FitOutcome {
  if (halfLife === undefined) return fits;
  const heldOut = commonLevels(fits.tickers.map((own) => ({ ...own.heldOut, days: own.residuals.days })));
  const scored = commonLevels(fits.tickers.map(({ ticker, score }) => ({ ...score, ticker })));
  const lastHeldOut = fits.tickers.reduce(
    (day, { residuals }) => Math.max(day, residuals.days.at(-1) ?? day),
    0,
  );
  const streams = fits.tickers.map(({ residuals, score }) => {
    const early = countBefore(score.days, lastHeldOut + 1);
    const days = score.days.subarray(early);
    const stream = {
      days: Int32Array.from([...residuals.days, ...days]),
      predicted: concatenate([residuals.predicted, score.predicted.subarray(early)]),
      levels: concatenate([levelsAt(heldOut, residuals.days), levelsAt(scored, days)]),
    };
    return { early, stream };
  });
  const { smoothed, thinDates } = smoothForecasts(
    streams.map(({ stream }) => stream),
    halfLife,
  );
  const tickers = fits.tickers.map((own, t) => {
    const { heldOut, residuals, score } = own;
    const before = residuals.days.length;
    const predicted = smoothed[t]!.subarray(0, before);
    const early = score.predicted.subarray(0, streams[t]!.early);
    return {
      ...own,
      // Without residuals, they are the validation part.
      heldOut: before === 0 ? heldOut : { ...heldOut, predicted },
      residuals: { ...residuals, predicted },
      score: { ...score, predicted: concatenate([early, smoothed[t]!.subarray(before)]) },
    };
  });
  if (thinDates === 0) return { ...fits, tickers };
  const message = `${counted(thinDates, "date")} with forecasts of fewer than ${MIN_ORDER_TICKERS} tickers ${thinDates === 1 ? "is" : "are"} not smoothed.`;
  const thin: Warning = { code: "thin_dates", message, count: thinDates };
  return { ...fits, tickers, warnings: [...fits.warnings, thin] };
}
