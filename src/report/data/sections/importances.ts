import { mean } from "../../../evaluate/statistics.ts";
import type { OutputSummary } from "../../../outputs/output-summary.ts";
import { countedRows, figure } from "../figures.ts";
import type { Origin } from "../report-data.ts";

const MAX_FEATURES = 30;

type Listed = readonly {
  readonly feature: string;
  readonly importance: number;
  readonly spread?: number | undefined;
}[];

/** Over the models that list a feature. */
interface FeatureUse {
  readonly shares: number[];
  /** Over the fits of a model, as a share of its importances; of models that have it. */
  readonly spreads: number[];
}

/**
 * What the models used: for each ticker, the shares of the absolute importances that the output lists, and their mean over the
 * tickers that have importances. A pooled fit has one list. Importances do not say what was useful. With refits, they
 * are those of the last fits.
 */
export function importancesOf(
  document: Pick<OutputSummary, "fits" | "pooled" | "refits">,
): Origin["importances"] {
  const uses = new Map<string, FeatureUse>();
  let counted = 0;
  for (const importances of listedBy(document)) {
    const total = importances.reduce((sum, { importance }) => sum + Math.abs(importance), 0);
    if (!(total > 0 && Number.isFinite(total))) continue;
    counted++;
    for (const { feature, importance, spread } of importances) {
      if (importance === 0) continue;
      const use = uses.get(feature) ?? { shares: [], spreads: [] };
      uses.set(feature, use);
      use.shares.push(Math.abs(importance) / total);
      if (spread !== undefined) use.spreads.push(spread / total);
    }
  }
  if (counted === 0) return { absent: "The output lists no importances; not every library reports them." };
  const features = [...uses]
    .map(([feature, { shares, spreads }]) => ({
      feature,
      share: shares.reduce((sum, share) => sum + share, 0) / counted,
      tickers: shares.length,
      ...(spreads.length === 0 ? {} : { spread: mean(Float64Array.from(spreads)) }),
    }))
    .sort((a, b) => b.share - a.share)
    .slice(0, MAX_FEATURES);
  return { data: { features, finding: findingOf(features[0]!, counted, document) } };
}

/** The importances of each model. */
function listedBy({ fits = {}, pooled, refits }: Parameters<typeof importancesOf>[0]): Listed[] {
  const last = refits === undefined ? [] : [refits, ...Object.values(refits.by_ticker)];
  const models = pooled === undefined ? Object.values(fits) : [pooled];
  const refitted = last.flatMap(({ importances }) => importances ?? []);
  return (refitted.length > 0 ? last : models).map(({ importances = [] }) => importances);
}

function findingOf(
  first: { readonly feature: string; readonly share: number },
  counted: number,
  { pooled, refits }: Parameters<typeof importancesOf>[0],
): string {
  const share = `${first.feature} most, with ${figure(first.share, "share")} of the importance`;
  const isRefitted = refits !== undefined && refits.blocks.length > 1;
  const used =
    pooled === undefined
      ? `The ${isRefitted ? "last " : ""}models used ${share}, the mean of ${countedRows(counted, "ticker")}`
      : `The ${isRefitted ? "last " : ""}pooled model used ${share}`;
  return `${used}. This shows what the models used, not what was useful.`;
}
