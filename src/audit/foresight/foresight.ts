import { counted } from "../../contract/errors/wording.ts";
import type { Report } from "../../contract/output/job-events.ts";
import { type Inputs, openInputs } from "../../jobs/shared/read-inputs.ts";
import type { ResolvedWindow } from "../../panel/window.ts";
import { delayOf } from "../audit-inputs.ts";
import { type AuditCheck, type AuditContext, type CheckResult, type Finding, ranCheck } from "../check.ts";
import { finding } from "../findings.ts";
import { laterCopy } from "./equal-values.ts";
import { foresightFindings } from "./foresight-findings.ts";
import {
  missingnessTest,
  type UnpricedValues,
  unpricedRows,
  unpricedValues,
  usualShare,
} from "./missing-values.ts";
import { pooledSuspects } from "./pooled/pooled-suspects.ts";
import { LabelRanks, returnCorrelations } from "./return-correlations.ts";
import { TickerSurprises } from "./return-surprises.ts";
import { addValues, hasManyValues, isScaledByEnds, isStandardAtEndOnly, noSums } from "./standardised.ts";
import { Suspects } from "./suspects.ts";
import {
  columnValues,
  type FeatureColumn,
  featureColumn,
  type TickerHistory,
  tickerHistory,
} from "./ticker-history.ts";

/** Looks for features that know their label, ticker by ticker, in one reading of the feature blob. */
export const foresight: AuditCheck = {
  name: "foresight",
  cost: () => "one reading of both blobs, and about 3 ms per feature, ticker and 1,000 dates",
  async run(audit, context) {
    const { request, accepted } = audit;
    // Progress is counted in tickers; bytes read would not show it.
    const report: Report = (event) => event.kind !== "progress" && context.report(event);
    const inputs = await openInputs(request, { ...context, report }, context.workFolder, delayOf(audit));
    try {
      const result = await examineInputs(inputs, accepted, context);
      const { feature, dataExtractor } = inputs.digests();
      context.blobs.note(request.featureUrl, feature);
      context.blobs.note(request.dataExtractorUrl, dataExtractor);
      return result;
    } finally {
      await inputs.close();
    }
  },
};

async function examineInputs(
  inputs: Inputs,
  accepted: ReadonlySet<string>,
  { onStep }: AuditContext,
): Promise<CheckResult> {
  const suspects = new Suspects();
  let [tickers, features] = [0, 0];
  const unpriced = { tickers: 0, features: 0, values: 0 };
  for await (const pair of inputs.pairs()) {
    const history = tickerHistory(pair.prices, pair.features, inputs.window);
    const examined = examineTicker(history, inputs.window, suspects);
    features += history.features.columns.length;
    if (examined.unpricedValues > 0) unpriced.tickers++;
    unpriced.features += examined.unpricedFeatures;
    unpriced.values += examined.unpricedValues;
    onStep?.(++tickers, inputs.priceTickers);
  }
  const pooled = suspects.pooled.tests();
  const pooledTests = [...pooled.values()].reduce((sum, { length }) => sum + length, 0);
  return ranCheck({
    tests: suspects.tests + pooledTests,
    findings: [
      ...foresightFindings(suspects.standing(), pooledSuspects(pooled), suspects.needed, accepted),
      ...unpricedNote(unpriced),
    ],
    facts: {
      tickers,
      ticker_features: features,
      needed_deviations: suspects.needed,
      suspects_not_told: suspects.dropped,
      pooled_tests: pooledTests,
      features_not_pooled: suspects.pooled.skipped,
    },
  });
}

/** One note for all features together: such rows are useless but harmless. */
function unpricedNote(unpriced: Readonly<Record<"tickers" | "features" | "values", number>>): Finding[] {
  if (unpriced.values === 0) return [];
  const on = `${counted(unpriced.features, "feature")} of ${counted(unpriced.tickers, "ticker")}`;
  const message = `${on} have ${counted(unpriced.values, "value")} on dates without a price.`;
  return [finding("value_without_price", { message, evidence: { ...unpriced } })];
}

/** Fewer filled values may be chance. */
const MIN_FILLED = 3;
/** If more of a column's other values look filled, as for a weekday, this sign cannot judge it. */
const MAX_USUAL = 0.05;

/** What one ticker adds to the facts of the check. */
interface ExaminedTicker {
  /** The number of features with a value on a date without a price, and the number of such values. */
  readonly unpricedFeatures: number;
  readonly unpricedValues: number;
}

/** Runs all tests on every feature of one ticker, and adds suspicions to `suspects`. Yields 1 after each feature. */
export function examineTicker(
  history: TickerHistory,
  window: Pick<ResolvedWindow, "start" | "end">,
  suspects: Suspects,
): ExaminedTicker {
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
    const scaled = isStandard ? "has mean 0 and standard deviation 1" : "reaches each end of its scale once";
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
