/** How far forecasts can be trusted as sizes of returns, as an output records it. */
interface Slope {
  readonly n: number;
  readonly b: number | null;
  readonly se: number | null;
  readonly s: number;
}

/**
 * Why shrinkage multiplied every forecast by 0, in one sentence.
 * @param byDate the slope over all tickers with dates as units; older outputs lack it.
 */
export function zeroedSentence(pooled: Slope, byDate: Slope | undefined): string {
  return `Shrinkage multiplied all forecasts by 0 because ${reasonOf(pooled, byDate)}.`;
}

function reasonOf(pooled: Slope, byDate: Slope | undefined): string {
  if (pooled.n === 0) return "there are no held-out forecasts to judge them by";
  if (pooled.b === null) return "the held-out forecasts are all 0";
  const doubt = "the held-out forecasts do not show that returns follow them";
  if (byDate === undefined || byDate.b === null) return doubt;
  // With a factor for each ticker, all may be 0 although the slope over all tickers supports a larger one.
  if (byDate.s > 0) return `${doubt}: no ticker's slope of returns on forecasts is above its standard error`;
  const error = byDate.se === null ? "0" : `its standard error of ${byDate.se.toFixed(2)}`;
  return `${doubt}: the slope of returns on forecasts is ${byDate.b.toFixed(2)}, not above ${error}`;
}

/** The same for an output; undefined if a forecast is not 0, or if not shrinkage made it so. */
export function zeroedByShrinkage(
  mu: Readonly<Record<string, number>>,
  shrinkage:
    | {
        readonly pooled: Slope;
        readonly by_date?: Slope | undefined;
        readonly applied?: Readonly<Record<string, number>> | undefined;
      }
    | undefined,
): string | undefined {
  const tickers = Object.keys(mu);
  const applied = shrinkage?.applied;
  if (shrinkage === undefined || applied === undefined || tickers.length === 0) return undefined;
  const isZeroed = tickers.every(
    (ticker) => mu[ticker] === 0 && Object.hasOwn(applied, ticker) && applied[ticker] === 0,
  );
  return isZeroed ? zeroedSentence(shrinkage.pooled, shrinkage.by_date) : undefined;
}
