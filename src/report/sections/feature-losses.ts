import type { OutputImportance } from "../../contract/output/importance.ts";
import { rowChart } from "../charts/row-chart.ts";
import { countedRows, figure } from "../figures.ts";
import { keyLine, numbersTable, type Panel } from "../panels/panel.ts";

const MAX_BARS = 15;
/** Names of a group in the table; the output has all. */
const MAX_NAMES = 6;

type GroupLoss = OutputImportance["groups"][number];

/** How much order the out-of-fold forecasts lose without each group of features; none if the output does not say. */
export function featureLossPanels(importance: OutputImportance | undefined): Panel[] {
  if (importance === undefined) return [];
  const { groups, quantile } = importance;
  const title = "Order without a feature";
  const measured = groups.filter(({ loss }) => loss !== null);
  if (measured.length === 0 || quantile === null) {
    return [{ title, finding: tooFew(importance), chart: "" }];
  }
  const finding = findingOf(importance, quantile);
  return [
    {
      title,
      finding,
      chart: rowChart({
        finding,
        unit: "ic",
        rows: measured.slice(0, MAX_BARS).map((group) => ({
          name: barName(group),
          value: group.loss!,
          ...bandOf(group, quantile),
        })),
      }),
      key: keyLine([
        ["dot", `loss of ${measureOf(importance)} if the features are shuffled`],
        ["interval", "90 % band over dates"],
      ]),
      numbers: numbersTable({
        caption: "order without a feature",
        columns: ["Features", "Loss", "t"],
        rows: groups.map((group) => [namesOf(group), figure(group.loss, "ic"), figure(group.t, "t")]),
      }),
    },
  ];
}

function measureOf({ form }: OutputImportance): string {
  return form === "time_series" ? "correlation over time" : "mean RankIC";
}

function tooFew({ dates }: OutputImportance): string {
  return `The importance of features is not judged: ${countedRows(dates, "out-of-fold date")}, 30 needed.`;
}

function findingOf(importance: OutputImportance, quantile: number): string {
  const { groups, figure: whole } = importance;
  const first = groups[0]!;
  const count = countedRows(groups.length, "group");
  const measure = measureOf(importance);
  if (whole === null || first.loss === null || first.loss <= 0) {
    return `None of ${count} of features lowers the ${measure} when it is shuffled.`;
  }
  const beyond = groups.filter(({ t }) => t !== null && t >= quantile).length;
  const most = `Without ${shortNames(first)}, the ${measure} falls from ${figure(whole, "ic")} to ${figure(whole - first.loss, "ic")} (t = ${figure(first.t, "t")}).`;
  const those = beyond === 0 ? "None" : figure(beyond, "count");
  return `${most} ${those} of ${count} of features ${beyond === 1 ? "exceeds" : "exceed"} a t of ${figure(quantile, "t")}, as 5 % of useless features do by chance.`;
}

/** The band of a loss; a point if its t does not exist. */
function bandOf({ loss, t }: GroupLoss, quantile: number): { low: number; high: number } {
  const half = loss === null || t === null || t === 0 ? 0 : Math.abs((quantile * loss) / t);
  return { low: (loss ?? 0) - half, high: (loss ?? 0) + half };
}

function barName({ features: [first, ...others] }: GroupLoss): string {
  return others.length === 0 ? first! : `${first} +${others.length}`;
}

/** At most two names, so that a sentence stays readable. */
function shortNames({ features }: GroupLoss): string {
  const rest = features.length - 2;
  return rest > 0 ? `${features.slice(0, 2).join(", ")} and ${rest} more` : features.join(" and ");
}

function namesOf({ features }: GroupLoss): string {
  const rest = features.length - MAX_NAMES;
  const names = features.slice(0, MAX_NAMES).join(", ");
  return rest > 0 ? `${names} and ${rest} more` : names;
}
