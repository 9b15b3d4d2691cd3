import { counted } from "../../contract/errors/wording.ts";
import { inTurns } from "../../contract/machine/pausable.ts";
import type { Report } from "../../contract/output/job-events.ts";
import { type Inputs, openInputs } from "../../jobs/shared/read-inputs.ts";
import { type AuditCheck, type AuditContext, type CheckResult, type Finding, ranCheck } from "../check.ts";
import { finding } from "../findings.ts";
import { examineTicker } from "./examine-ticker.ts";
import { foresightFindings } from "./foresight-findings.ts";
import { pooledSuspects } from "./pooled/pooled-suspects.ts";
import { Suspects } from "./suspects.ts";
import { tickerHistory } from "./ticker-history.ts";

/** Looks for features that know their label, ticker by ticker, in one reading of the feature blob. */
export const foresight: AuditCheck = {
  name: "foresight",
  cost: () => "one reading of both blobs, and some 3 ms for each feature of each ticker and 1,000 dates",
  async run({ request, accepted }, context) {
    // Progress is counted in tickers; bytes read would not show it.
    const report: Report = (event) => event.kind !== "progress" && context.report(event);
    const inputs = await openInputs(request, { ...context, report }, context.workFolder);
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
  { signal, onStep }: AuditContext,
): Promise<CheckResult> {
  const suspects = new Suspects();
  let [tickers, features] = [0, 0];
  const unpriced = { tickers: 0, features: 0, values: 0 };
  for await (const pair of inputs.pairs()) {
    const history = tickerHistory(pair.prices, pair.features, inputs.window);
    const examined = await inTurns(examineTicker(history, inputs.window, suspects), signal);
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
