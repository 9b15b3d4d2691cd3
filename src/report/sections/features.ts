import type { OutputImportance } from "../../contract/output/metrics-schemas.ts";
import { MIN_DATES } from "../../contract/output/test-quantile.ts";
import { shortVisibleText } from "../../contract/visible-text.ts";
import { mean } from "../../evaluate/statistics.ts";
import type { OutputSummary } from "../../outputs/output-summary.ts";
import { barsOf, type Mark, pair } from "../../view/chart.ts";
import { bandFigure, countedRows, figure, wholePercent } from "../../view/figures.ts";
import { numbers } from "../../view/table.ts";
import { absent, type ReportPanel } from "../section.ts";

/** The table has the others. */
const MAX_BARS = 15;
/** Names of a group in the table; the output has all. */
const MAX_NAMES = 6;
const MAX_NAME_LENGTH = 40;
const BAND = `${wholePercent(90)} band`;

/** A value within its band, by row. */
function bandMarks(
  rows: readonly { readonly value: number; readonly low: number; readonly high: number }[],
  meaning: string,
  bandMeaning: string,
): Mark[] {
  return [
    {
      kind: "interval",
      shape: "segments",
      points: rows.flatMap(({ low, high }, i) => pair(low, i + 0.5, high, i + 0.5)),
      meaning: bandMeaning,
    },
    { kind: "dot", shape: "dots", points: rows.map(({ value }, i) => [value, i + 0.5] as const), meaning },
  ];
}

type GroupLoss = OutputImportance["groups"][number];

/** How much order the out-of-fold forecasts lose without each group of features; none if the output does not say. */
export function lossPanels(importance: OutputImportance | undefined): ReportPanel[] {
  if (importance === undefined) return [];
  const { groups, quantile, dates, form } = importance;
  const title = "Importance for the order";
  const measured = groups.filter(({ loss }) => loss !== null);
  if (groups.length === 0) return absent(title, "The output names no features.");
  if (measured.length === 0 || quantile === null) {
    const few = `The importance of features is not judged: ${countedRows(dates, "out-of-fold date")}, ${MIN_DATES} needed.`;
    return absent(title, few);
  }
  const measure = form === "time_series" ? "return on the side of the forecast" : "mean RankIC";
  const shown = measured.slice(0, MAX_BARS);
  return [
    {
      title,
      sentence: lossSentence(importance, measured, quantile, measure),
      chart: {
        x: { unit: "ic", within: [0] },
        y: { names: shown.map(({ features }) => features.join(", ")) },
        marks: bandMarks(
          shown.map((group) => ({ value: group.loss!, ...bandOf(group, quantile) })),
          `loss of ${measure} if the features are shuffled`,
          `${BAND} over dates`,
        ),
      },
      numbers: numbers({
        name: "importance for the order",
        rows: groups,
        columns: [
          ["Features", "text", ({ features }) => namesOf(features, MAX_NAMES, ", ")],
          ["Mean |\u03c1|", "number", ({ correlation }) => correlation],
          ["Loss", "ic", ({ loss }) => loss],
          [BAND, "band", "ic", (group) => (group.t === null ? null : bandOf(group, quantile))],
        ],
      }),
    },
  ];
}

/** @param measured the largest loss first, at least one. */
function lossSentence(
  { figure: whole }: OutputImportance,
  measured: readonly GroupLoss[],
  quantile: number,
  measure: string,
): string {
  const first = measured[0]!;
  const loss = first.loss!;
  const count = measured.length;
  const groups = count === 1 ? "The only group of features" : `of ${count} groups of features`;
  if (whole === null || loss <= 0)
    return `${count === 1 ? groups : `None ${groups}`} lowers the ${measure} when it is shuffled.`;
  const beyond = measured.filter(({ t }) => t !== null && t >= quantile).length;
  const falls = `Without ${namesOf(first.features, 2, " and ")}, the ${measure} falls from ${figure(whole, "ic")} to ${figure(whole - loss, "ic")} (${BAND} of the loss ${bandFigure(bandOf(first, quantile), "ic")}).`;
  const above = `band above 0, which a useless group has with a probability of ${wholePercent(5)}`;
  if (count === 1) return `${falls} ${groups} has ${beyond === 1 ? "a" : "no"} ${above}.`;
  return `${falls} ${beyond === 0 ? "None" : beyond} ${groups} ${beyond > 1 ? "have" : "has"} a ${above}.`;
}

/** The band of a loss; a point if its t does not exist. */
function bandOf({ loss, t }: GroupLoss, quantile: number): { low: number; high: number } {
  const half = loss === null || t === null || t === 0 ? 0 : Math.abs((quantile * loss) / t);
  return { low: (loss ?? 0) - half, high: (loss ?? 0) + half };
}

function namesOf(features: readonly string[], most: number, last: string): string {
  const names = features.slice(0, most).map((name) => shortVisibleText(name, MAX_NAME_LENGTH));
  const rest = features.length - most;
  return rest > 0 ? `${names.join(", ")} and ${rest} more` : names.join(last);
}

const MAX_FEATURES = 30;

interface FeatureUse {
  readonly feature: string;
  /** The mean over models of the absolute share. */
  readonly share: number;
  /** The models that list it. */
  readonly models: number;
  /** With refits: the mean over models of the standard deviation over their fits, as a share of the importances of the last. */
  readonly spread: number | undefined;
}

/** The shares of the absolute importances that the output lists, the largest first; with refits those of the last fits. */
export function importancesOf({
  fits = {},
  pooled,
  refits,
}: Pick<OutputSummary, "fits" | "pooled" | "refits">): {
  readonly counted: number;
  readonly uses: readonly FeatureUse[];
} {
  const last = refits === undefined ? [] : [refits, ...Object.values(refits.by_ticker)];
  const isRefitted = last.some(({ importances = [] }) => importances.length > 0);
  const models = isRefitted ? last : pooled === undefined ? Object.values(fits) : [pooled];
  const found = new Map<string, { shares: number[]; spreads: number[] }>();
  let counted = 0;
  for (const { importances = [] } of models as (typeof last)[number][]) {
    const total = importances.reduce((sum, { importance }) => sum + Math.abs(importance), 0);
    if (!(total > 0 && Number.isFinite(total))) continue;
    counted++;
    for (const { feature, importance, spread } of importances) {
      if (importance === 0) continue;
      const use = found.get(feature) ?? { shares: [], spreads: [] };
      found.set(feature, use);
      use.shares.push(Math.abs(importance) / total);
      if (spread !== undefined) use.spreads.push(spread / total);
    }
  }
  const uses = [...found].map(([feature, { shares, spreads }]) => ({
    feature,
    share: shares.reduce((sum, share) => sum + share, 0) / counted,
    models: shares.length,
    spread: spreads.length === 0 ? undefined : mean(Float64Array.from(spreads)),
  }));
  return { counted, uses: uses.sort((a, b) => b.share - a.share).slice(0, MAX_FEATURES) };
}

/** What the models used, which is not what was useful; none if the output lists no importances. */
export function importancePanels(document: OutputSummary): ReportPanel[] {
  const { counted, uses } = importancesOf(document);
  if (counted === 0) return [];
  const shown = uses.slice(0, MAX_BARS);
  const [first] = shown as [FeatureUse];
  const lastOf = (document.refits?.blocks.length ?? 0) > 1 ? "last " : "";
  const most = `${first.feature} most, with ${figure(first.share, "share")} of the importance`;
  const used =
    document.pooled === undefined
      ? `The ${lastOf}models used ${most}, the mean of ${countedRows(counted, "ticker")}`
      : `The ${lastOf}pooled model used ${most}`;
  const hasSpreads = uses.some(({ spread }) => spread !== undefined);
  const rows = shown.map(({ share, spread = 0 }) => {
    return { value: share, low: Math.max(0, share - spread), high: share + spread };
  });
  return [
    {
      title: "Importances",
      sentence: `${used}. This shows what the models used, not what was useful.`,
      chart: {
        x: { unit: "share", within: [0] },
        y: { names: shown.map(({ feature }) => feature) },
        marks: hasSpreads
          ? bandMarks(rows, "share of the last fit", "± one standard deviation over the fits")
          : [
              barsOf(
                "bar",
                rows.map(({ value }) => value),
              ),
            ],
      },
      numbers: numbers({
        name: "importances",
        rows: uses,
        columns: [
          ["Feature", "text", ({ feature }) => feature],
          ["Mean share", "share", ({ share }) => share],
          hasSpreads && ["Deviation over fits", "share", ({ spread }) => spread],
          ["Models", "count", ({ models: count }) => count],
        ],
      }),
    },
  ];
}
