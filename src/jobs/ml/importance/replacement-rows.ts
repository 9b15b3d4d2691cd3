import { join } from "node:path";
import { MIN_ORDER_TICKERS } from "../../../contract/output/later-close.ts";
import { MIN_DATES } from "../../../contract/output/test-quantile.ts";
import { type ArrayRef, writeNpy } from "../../../engine/npy.ts";
import type { Permutation } from "../../../engine/pool/protocol.ts";
import type { OrderForm } from "../../../evaluate/verdict/order.ts";
import type { PooledPlan } from "../../../panel/pooled-plan.ts";
import type { PlannedFit } from "../plan-fits.ts";
import type { FeatureGroup } from "./feature-groups.ts";
import { permutationOf } from "./permuted-predictions.ts";

/** A fold whose rows get values of any row that its models may know: those that it trains on and tests. Other fits stay as they are. */
export function withKnownRows(fit: PlannedFit): PlannedFit {
  return fit.diagnose ? fit : { ...fit, pool: [fit.train[0], fit.predict[1]] };
}

/** How the folds of a pooled fit shuffle features. */
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
export function pooledShuffle(
  plan: PooledPlan,
  groups: readonly FeatureGroup[],
  columns: readonly string[],
  workFolder: string,
): PooledShuffle {
  const form = pooledForm(plan);
  return {
    form,
    permutation: { ...permutationOf(groups, columns), strata: writeStrata(plan, form, workFolder) },
    withPool: form === "cross_section" ? (fold) => ({ ...fold, pool: fold.predict }) : withKnownRows,
  };
}

/** Across tickers if at least MIN_DATES test dates have MIN_ORDER_TICKERS tickers. */
function pooledForm({ members }: PooledPlan): OrderForm {
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
  return wide.length >= MIN_DATES ? "cross_section" : "time_series";
}

/** The stratum of each row that some fit learns from: its date or its ticker. */
function writeStrata({ members, learnRows }: PooledPlan, form: OrderForm, workFolder: string): ArrayRef {
  const strata = new Float64Array(learnRows);
  for (const [ticker, { panel, learn, places }] of members.entries()) {
    for (const [position, row] of learn.entries()) {
      strata[places[position]!] = form === "cross_section" ? panel.days[row]! : ticker;
    }
  }
  return writeNpy(join(workFolder, "pooled-strata.npy"), strata, [learnRows]);
}
