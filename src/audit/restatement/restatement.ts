import type { AuditInputs } from "../audit-inputs.ts";
import { type AuditCheck, type AuditContext, type CheckResult, notRun, ranCheck } from "../check.ts";
import {
  type ComparedBlobs,
  type ComparedPrices,
  compareFeatureBlobs,
  comparePriceBlobs,
} from "./compare-blobs.ts";
import { featureFindings } from "./feature-findings.ts";
import { priceFindings } from "./price-findings.ts";

/**
 * Compares an earlier day's blobs with today's: values on days that both cover must be the same. A rewritten value, a filled null or
 * a removed ticker was different when a forecast had to be made, and a model that learns from it looks ahead.
 */
export const restatement: AuditCheck = {
  name: "restatement",
  cost: () => "one reading of the earlier blobs and one of today's",
  run: compareDays,
};

const NO_EARLIER_BLOB =
  "no earlier blob was given: `previous_feature_url` (--previous-feature-url), `previous_data_extractor_url` (--previous-data-extractor-url)";

async function compareDays(
  { request, previous = {} }: AuditInputs,
  context: AuditContext,
): Promise<CheckResult> {
  const { featureUrl, dataExtractorUrl } = previous;
  const pairs = [featureUrl, dataExtractorUrl].filter((url) => url !== undefined).length;
  if (pairs === 0) return notRun(NO_EARLIER_BLOB);
  let prices: ComparedPrices | undefined;
  if (dataExtractorUrl !== undefined) {
    prices = await comparePriceBlobs(dataExtractorUrl, request.dataExtractorUrl, context);
    context.onStep?.(1, pairs);
  }
  let features: ComparedBlobs | undefined;
  if (featureUrl !== undefined) {
    features = await compareFeatureBlobs(featureUrl, request.featureUrl, context);
    context.onStep?.(pairs, pairs);
  }
  return resultOf(prices, features);
}

function resultOf(prices: ComparedPrices | undefined, features: ComparedBlobs | undefined): CheckResult {
  const priceFactors = prices?.comparison.rescaled ?? new Map();
  return ranCheck({
    tests: (prices?.comparison.columns ?? 0) + (features?.comparison.columns ?? 0),
    findings: [
      ...(prices === undefined ? [] : priceFindings(prices.comparison, prices.returns)),
      ...(features === undefined ? [] : featureFindings(features.comparison, priceFactors)),
    ],
    facts: { data_extractor: prices?.facts ?? null, feature: features?.facts ?? null },
  });
}
