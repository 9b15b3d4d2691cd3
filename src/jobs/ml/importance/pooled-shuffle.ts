import { join } from "node:path";
import { MIN_ORDER_TICKERS } from "../../../contract/output/order-name.ts";
import { MIN_DATES } from "../../../contract/output/test-quantile.ts";
import { type ArrayRef, writeNpy } from "../../../engine/npy.ts";
import type { Permutation } from "../../../engine/pool/protocol.ts";
import type { OrderForm } from "../../../evaluate/verdict/order.ts";
import type { PooledPlan } from "../../../panel/pooled-plan.ts";
import type { PlannedFit } from "../fits.ts";
import { type FeatureGroup, permutationOf, withKnownRows } from "./feature-groups.ts";

export interface PooledShuffle {
  readonly form: OrderForm;
  readonly permutation: Permutation & { readonly strata: ArrayRef };
  /** A fold with the rows whose values its test rows get. */
  withPool(fold: PlannedFit): PlannedFit;
}

/**
 * Values move among the tickers of a test date, or, if few dates have enough tickers to judge an order across them, among the dates of a ticker.
 * @param columns of the matrix.
 * @throws MucastError output_failed if the work folder's disk is full.
 */
export function shufflePooled(
  plan: PooledPlan,
  groups: readonly FeatureGroup[],
  columns: readonly string[],
  workFolder: string,
): PooledShuffle {
  const { members, learnRows } = plan;
  const tickers = new Map<number, number>();
  for (const { panel, folds } of members) {
    for (const { testStart, testEnd } of folds) {
      for (const row of panel.fit.subarray(testStart, testEnd)) {
        const day = panel.days[row]!;
        tickers.set(day, (tickers.get(day) ?? 0) + 1);
      }
    }
  }
  const wide = [...tickers.values()].filter((count) => count >= MIN_ORDER_TICKERS);
  const form = wide.length >= MIN_DATES ? "cross_section" : "time_series";
  // The stratum of each row that some fit learns from: its date or its ticker.
  const strata = new Float64Array(learnRows);
  for (const [ticker, { panel, learn, places }] of members.entries()) {
    for (const [position, row] of learn.entries())
      strata[places[position]!] = form === "cross_section" ? panel.days[row]! : ticker;
  }
  const ref = writeNpy(join(workFolder, "pooled-strata.npy"), strata, [learnRows]);
  return {
    form,
    permutation: { ...permutationOf(groups, columns), strata: ref },
    withPool: form === "cross_section" ? (fold) => ({ ...fold, pool: fold.predict }) : withKnownRows,
  };
}
