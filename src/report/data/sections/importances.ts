import type { OutputSummary } from "../../../outputs/output-summary.ts";
import { countedRows, figure } from "../figures.ts";
import type { Origin } from "../report-data.ts";

const MAX_FEATURES = 30;

/**
 * What the models used: for each ticker, the shares of the absolute importances that the output lists, and their mean over the
 * tickers that have importances. A pooled fit has one list. Importances do not say what was useful.
 */
export function importancesOf({
  fits = {},
  pooled,
}: Pick<OutputSummary, "fits" | "pooled">): Origin["importances"] {
  const sums = new Map<string, { share: number; tickers: number }>();
  let counted = 0;
  const models = pooled === undefined ? Object.values(fits) : [pooled];
  for (const { importances = [] } of models) {
    const total = importances.reduce((sum, { importance }) => sum + Math.abs(importance), 0);
    if (!(total > 0 && Number.isFinite(total))) continue;
    counted++;
    for (const { feature, importance } of importances) {
      if (importance === 0) continue;
      const { share, tickers } = sums.get(feature) ?? { share: 0, tickers: 0 };
      sums.set(feature, { share: share + Math.abs(importance) / total, tickers: tickers + 1 });
    }
  }
  if (counted === 0) return { absent: "The output lists no importances; not every library reports them." };
  const features = [...sums]
    .map(([feature, { share, tickers }]) => ({ feature, share: share / counted, tickers }))
    .sort((a, b) => b.share - a.share)
    .slice(0, MAX_FEATURES);
  const first = features[0]!;
  const share = `${first.feature} most, with ${figure(first.share, "share")} of the importance`;
  const used =
    pooled === undefined
      ? `The models used ${share}, the mean of ${countedRows(counted, "ticker")}`
      : `The pooled model used ${share}`;
  const finding = `${used}. This shows what the models used, not what was useful.`;
  return { data: { features, finding } };
}
