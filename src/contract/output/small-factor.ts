import type { Shrinkage } from "./metrics-schemas.ts";
import type { OutputBlob } from "./output-blob.ts";
import { bandFromT } from "./test-quantile.ts";
import type { Verdict } from "./verdict.ts";

/** Forecasts with a smaller factor are as good as 0 beside costs, so a reader needs the order and a next step. */
const SMALL_FACTOR = 0.05;

type Slope = Pick<Shrinkage, "n" | "b" | "se">;

interface FactorFacts {
  /** Of the tickers with a `mu`, as applied to it. */
  readonly factors: readonly number[];
  /** The slope over all tickers, with dates as units; outputs of older versions may have only that over rows. */
  readonly slope: Slope;
  /** Whether the output has the model's own forecasts beside those multiplied by 0. */
  readonly hasModel: boolean;
  readonly verdict: Pick<Verdict, "judged"> | undefined;
}

/** Why shrinkage makes every forecast very small, what the order was worth before, and what to do next; undefined if a factor is not small. */
export function smallFactorSentences({ factors, slope, hasModel, verdict }: FactorFacts): string | undefined {
  const largest = Math.max(...factors);
  if (factors.length === 0 || largest >= SMALL_FACTOR) return undefined;
  const isCommon = factors.every((factor) => factor === largest);
  const most = isCommon ? "" : "at most ";
  const head = `Shrinkage multiplies the forecasts by ${most}${Number(largest.toPrecision(2))}, because ${reasonOf(slope)}.`;
  const judged = verdict?.judged.find(({ order }) => order.figure !== null);
  if (judged === undefined) return head;
  const { order, rows } = judged;
  const name = order.form === "cross_section" ? "the mean IC" : "the order over time";
  const unit = order.form === "cross_section" ? "" : " deviations";
  const band = bandFromT(order.figure, order.t, order.quantile);
  const within = band === null ? "" : ` (90% band ${band.low.toFixed(4)} to ${band.high.toFixed(4)})`;
  // A common factor changes no order; with others, that of score rows is the order of the published forecasts.
  const whose = isCommon || rows !== "score" ? "Before shrinkage" : "As published";
  const found = `${whose}, ${name} on the ${rows.replaceAll("_", "-")} rows is ${order.figure!.toFixed(4)}${unit}${within}`;
  if (order.state === "worse") return `${head} ${found}, which is worse than chance.`;
  if (order.state !== "evidence") return `${head} ${found}, which is no evidence of an order either.`;
  return `${head} ${found}. Rank by ${rankingOf(factors, hasModel)}; to size positions by the model's own forecasts, set shrinkage to none.`;
}

/** What ranks the tickers: factors of 0 leave `mu` no order. */
export function rankingOf(factors: readonly number[], hasModel: boolean): string {
  if (factors.length === 0 || factors.some((factor) => factor > 0)) return "mu";
  return hasModel ? "mu_model" : "unshrunk forecasts";
}

function reasonOf({ n, b, se }: Slope): string {
  if (n === 0) return "there are no held-out forecasts to judge them by";
  if (b === null) return "the held-out forecasts of a date are all the same";
  const error = se === null ? "" : ` with a standard error of ${se.toFixed(2)}`;
  return `the slope of returns on held-out forecasts is ${b.toFixed(2)}${error}`;
}

export function smallFactorOf({
  mu,
  mu_model,
  metrics: { shrinkage },
  verdict,
}: Pick<OutputBlob, "mu" | "mu_model" | "verdict"> & {
  readonly metrics: Pick<OutputBlob["metrics"], "shrinkage">;
}): string | undefined {
  const applied = shrinkage?.applied;
  if (shrinkage === undefined || applied === undefined) return undefined;
  const factors = Object.keys(mu).map((ticker) => (Object.hasOwn(applied, ticker) ? applied[ticker]! : 1));
  const slope = shrinkage.by_date ?? shrinkage.pooled;
  return smallFactorSentences({ factors, slope, hasModel: mu_model !== undefined, verdict });
}
