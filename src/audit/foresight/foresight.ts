import { counted } from "../../contract/errors/wording.ts";
import type { Report } from "../../contract/output/job-events.ts";
import { openInputs } from "../../jobs/shared/read-inputs.ts";
import { type AuditCheck, type CheckResult, type Finding, jobSettings, ranCheck } from "../check.ts";
import { finding } from "../findings.ts";
import { findCopy, findFilled, findScaled } from "./exact-signs.ts";
import { featureOf, type TickerHistory, tickerHistory } from "./feature-history.ts";
import { foresightFindings, type Measured, type Suspect } from "./foresight-findings.ts";
import { surprisesOf } from "./last-returns.ts";
import { PooledSums } from "./pooled-sums.ts";
import { pooledSuspects, pooledTests } from "./pooled-tests.ts";
import { neededDeviations } from "./rank-correlation.ts";
import { measureGaps, measureReturns } from "./return-signs.ts";

/** Looks for features that know their label, ticker by ticker, in one reading of the feature blob. */
export const foresight: AuditCheck = {
  name: "foresight",
  cost: () => "one reading of both blobs, and about 3 ms per feature, ticker and 1,000 dates",
  async run(audit, context) {
    const { request, accepted } = audit;
    // Progress is counted in tickers; bytes read would not show it.
    const report: Report = (event) => event.kind !== "progress" && context.report(event);
    const { delay } = jobSettings(audit);
    const inputs = await openInputs(request, { ...context, report }, context.workFolder, delay);
    try {
      const examined = new ExaminedFeatures();
      for await (const { prices, features } of inputs.pairs()) {
        examined.add(tickerHistory(prices, features, inputs.window));
        context.onStep?.(examined.tickers, inputs.priceTickers);
      }
      const { feature, dataExtractor } = inputs.digests();
      context.blobs.note(request.featureUrl, feature);
      context.blobs.note(request.dataExtractorUrl, dataExtractor);
      return examined.result(accepted);
    } finally {
      await inputs.close();
    }
  },
};

/** The maximum number of suspected pairs of ticker and feature that are kept; the rest are only counted. About 10 MB. */
const MAX_KEPT = 20_000;

export class ExaminedFeatures {
  tickers = 0;
  tests = 0;
  #features = 0;
  #dropped = 0;
  readonly #unpriced = { tickers: 0, features: 0, values: 0 };
  readonly #kept: (Pick<Suspect, "ticker" | "feature"> & Pick<Measured, "judge">)[] = [];
  readonly #pooled = new PooledSums();

  add(history: TickerHistory): void {
    const surprises = surprisesOf(history);
    let isUnpriced = false;
    for (const column of history.features.columns.keys()) {
      const feature = featureOf(history, column);
      const [returns, gaps] = [measureReturns(history, feature), measureGaps(history, feature)];
      this.tests += returns.tests + (gaps?.tests ?? 0);
      const filled = findFilled(history, feature);
      const exact = [findCopy(history, feature), findScaled(feature), filled.suspicion];
      const needed = neededDeviations(this.tests);
      for (const judge of [returns.judge, gaps?.judge, ...exact.map((one) => () => one)]) {
        // More tests need more deviations, so what falls short already is not kept.
        if (judge?.(needed) === undefined) continue;
        if (this.#kept.length === MAX_KEPT) this.#dropped++;
        else this.#kept.push({ ticker: history.ticker, feature: feature.name, judge });
      }
      this.#pooled.add(feature, surprises);
      this.#unpriced.values += filled.values;
      if (filled.values > 0) this.#unpriced.features++;
      isUnpriced ||= filled.values > 0;
    }
    this.tickers++;
    this.#features += history.features.columns.length;
    if (isUnpriced) this.#unpriced.tickers++;
  }

  /** @param accepted features whose skill is known to be honest. */
  findings(accepted: ReadonlySet<string>, pooled = pooledTests(this.#pooled)): Finding[] {
    const needed = neededDeviations(this.tests);
    const suspects = this.#kept.flatMap(({ judge, ...place }): Suspect[] => {
      const suspicion = judge(needed);
      return suspicion === undefined ? [] : [{ ...place, ...suspicion }];
    });
    return foresightFindings(suspects, pooledSuspects(pooled), needed, accepted);
  }

  result(accepted: ReadonlySet<string>): CheckResult {
    const pooled = pooledTests(this.#pooled);
    const tests = [...pooled.values()].reduce((sum, { length }) => sum + length, 0);
    return ranCheck({
      tests: this.tests + tests,
      findings: [...this.findings(accepted, pooled), ...this.#unpricedNote()],
      facts: {
        tickers: this.tickers,
        ticker_features: this.#features,
        needed_deviations: neededDeviations(this.tests),
        suspects_not_told: this.#dropped,
        pooled_tests: tests,
        features_not_pooled: this.#pooled.skipped,
      },
    });
  }

  /** One note for all features together: such rows are useless but harmless. */
  #unpricedNote(): Finding[] {
    const { tickers, features, values } = this.#unpriced;
    if (values === 0) return [];
    const message = `${counted(features, "feature")} of ${counted(tickers, "ticker")} have ${counted(values, "value")} on dates without a price.`;
    return [finding("value_without_price", { message, evidence: this.#unpriced })];
  }
}
