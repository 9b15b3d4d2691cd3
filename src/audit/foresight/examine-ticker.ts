import type { Pausable } from "../../contract/machine/pausable.ts";
import type { ResolvedWindow } from "../../panel/window.ts";
import { laterCopy } from "./equal-values.ts";
import { missingnessTest } from "./missing-values.ts";
import { LabelRanks, returnCorrelations } from "./return-correlations.ts";
import { TickerSurprises } from "./return-surprises.ts";
import { addValues, hasManyValues, isScaledByEnds, isStandardAtEndOnly, noSums } from "./standardised.ts";
import type { Suspects } from "./suspects.ts";
import { columnValues, type FeatureColumn, featureColumn, type TickerHistory } from "./ticker-history.ts";
import { type UnpricedValues, unpricedRows, unpricedValues, usualShare } from "./unpriced-values.ts";

/** Fewer filled values may be chance. */
const MIN_FILLED = 3;
/** If more of a column's other values look filled, as for a weekday, this sign cannot judge it. */
const MAX_USUAL = 0.05;

/** What one ticker adds to the facts of the check. */
export interface ExaminedTicker {
  /** The number of features with a value on a date without a price, and the number of such values. */
  readonly unpricedFeatures: number;
  readonly unpricedValues: number;
}

/** Runs all tests on every feature of one ticker, and adds suspicions to `suspects`. Yields 1 after each feature. */
export function* examineTicker(
  history: TickerHistory,
  window: Pick<ResolvedWindow, "start" | "end">,
  suspects: Suspects,
): Pausable<ExaminedTicker> {
  const labels = new LabelRanks(history);
  const surprises = new TickerSurprises(history);
  const unpriced = unpricedRows(history, window);
  let [features, values] = [0, 0];
  for (const column of history.features.columns.keys()) {
    const feature = featureColumn(history, column);
    examineReturns(history, feature, labels, suspects);
    suspects.pooled.add(feature, surprises);
    examineStandardising(history, column, suspects);
    const found = unpricedValues(history, column, unpriced);
    if (found.values > 0) features++;
    values += found.values;
    if (isFilledFromLater(found) && usualShare(history, column) <= MAX_USUAL) {
      const { ticker } = history;
      suspects.add({ ticker, feature: feature.name, code: "filled_from_later", unpriced: found });
    }
    yield 1;
  }
  return { unpricedFeatures: features, unpricedValues: values };
}

function isFilledFromLater({ values, fromLater, fromEarlier }: UnpricedValues): boolean {
  return fromLater >= MIN_FILLED && 2 * fromLater > values - fromEarlier;
}

function examineReturns(
  history: TickerHistory,
  feature: FeatureColumn,
  labels: LabelRanks,
  suspects: Suspects,
): void {
  const { ticker } = history;
  const correlations = returnCorrelations(history, feature, labels);
  const missingness = missingnessTest(history, feature);
  suspects.countTests(correlations.tests + (missingness === undefined ? 0 : 1));
  suspects.addCorrelations(ticker, feature.name, correlations);
  suspects.addMissingness(ticker, feature.name, missingness);
  const copy = laterCopy(history, feature);
  if (copy !== undefined) suspects.add({ ticker, feature: feature.name, code: "equals_later_value", copy });
}

/** Over all values of the column, and over those of its rows in the window. */
function examineStandardising(history: TickerHistory, column: number, suspects: Suspects): void {
  const name = history.features.columns[column]!;
  for (const values of [columnValues(history, column), featureColumn(history, column).x]) {
    const whole = noSums();
    addValues(whole, values);
    const firstHalf = noSums();
    addValues(firstHalf, values, 0, Math.floor(values.length / 2));
    const isStandard = isStandardAtEndOnly(whole, firstHalf);
    if (!(isStandard || isScaledByEnds(values)) || !hasManyValues(values)) continue;
    const scaled = isStandard ? "mean 0 and deviation 1" : "each end of its scale once";
    suspects.add({
      ticker: history.ticker,
      feature: name,
      code: "whole_sample_standardised",
      n: whole.n,
      scaled,
    });
    return;
  }
}
