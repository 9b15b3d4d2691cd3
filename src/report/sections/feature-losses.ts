import type { OutputImportance } from "../../contract/output/metrics-schemas.ts";
import { MIN_DATES } from "../../contract/output/test-quantile.ts";
import { shortVisibleText } from "../../contract/visible-text.ts";
import { bandFigure, countedRows, figure, NO_FIGURE, wholePercent } from "../../view/figures.ts";
import { rowChart } from "../charts/row-chart.ts";
import { keyLine, numbersTable, type Panel } from "../panels/panel.ts";

const MAX_BARS = 15;
/** Names of a group in the table; the output has all. */
const MAX_NAMES = 6;
const MAX_NAME_LENGTH = 40;

type GroupLoss = OutputImportance["groups"][number];

/** How much order the out-of-fold forecasts lose without each group of features; none if the output does not say. */
export function featureLossPanels(importance: OutputImportance | undefined): Panel[] {
  if (importance === undefined) return [];
  const { groups, quantile, dates } = importance;
  const title = "Importance for the order";
  const measured = groups.filter(({ loss }) => loss !== null);
  if (measured.length === 0 || quantile === null) {
    const few = `The importance of features is not judged: ${countedRows(dates, "out-of-fold date")}, ${MIN_DATES} needed.`;
    const finding = groups.length === 0 ? "The output names no features." : few;
    return [{ title, finding, chart: "" }];
  }
  const finding = findingOf(importance, measured, quantile);
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
        caption: "importance for the order",
        columns: ["Features", "Mean |\u03c1|", "Loss", `${wholePercent(90)} band`],
        rows: groups.map((group) => [
          namesOf(group),
          figure(group.correlation, "number"),
          figure(group.loss, "ic"),
          group.t === null ? NO_FIGURE : bandFigure(bandOf(group, quantile), "ic"),
        ]),
      }),
    },
  ];
}

function measureOf({ form }: OutputImportance): string {
  return form === "time_series" ? "return on the side of the forecast" : "mean RankIC";
}

/** @param measured the largest loss first, at least one. */
function findingOf(importance: OutputImportance, measured: readonly GroupLoss[], quantile: number): string {
  const { figure: whole } = importance;
  const first = measured[0]!;
  const loss = first.loss!;
  const measure = measureOf(importance);
  const count = measured.length;
  const groups = count === 1 ? "The only group of features" : `of ${count} groups of features`;
  if (whole === null || loss <= 0) {
    const none = count === 1 ? groups : `None ${groups}`;
    return `${none} lowers the ${measure} when it is shuffled.`;
  }
  const beyond = measured.filter(({ t }) => t !== null && t >= quantile).length;
  const falls = `Without ${shortNames(first)}, the ${measure} falls from ${figure(whole, "ic")} to ${figure(whole - loss, "ic")} (${wholePercent(90)} band of the loss ${bandFigure(bandOf(first, quantile), "ic")}).`;
  const bar = `a band above 0, which a useless group has with a probability of ${wholePercent(5)}`;
  if (count === 1) return `${falls} ${groups} has ${beyond === 1 ? bar : `no ${bar.slice(2)}`}.`;
  return `${falls} ${beyond === 0 ? "None" : beyond} ${groups} ${beyond > 1 ? "have" : "has"} ${bar}.`;
}

/** The band of a loss; a point if its t does not exist. */
function bandOf({ loss, t }: GroupLoss, quantile: number): { low: number; high: number } {
  const half = loss === null || t === null || t === 0 ? 0 : Math.abs((quantile * loss) / t);
  return { low: (loss ?? 0) - half, high: (loss ?? 0) + half };
}

function barName({ features: [first = "", ...others] }: GroupLoss): string {
  return others.length === 0 ? first : `${first} +${others.length}`;
}

/** At most two names, so that a sentence stays readable. */
function shortNames({ features }: GroupLoss): string {
  const rest = features.length - 2;
  const names = features.slice(0, 2).map((name) => shortVisibleText(name, MAX_NAME_LENGTH));
  return rest > 0 ? `${names.join(", ")} and ${rest} more` : names.join(" and ");
}

function namesOf({ features }: GroupLoss): string {
  const rest = features.length - MAX_NAMES;
  const names = features.slice(0, MAX_NAMES).map((name) => shortVisibleText(name, MAX_NAME_LENGTH));
  return rest > 0 ? `${names.join(", ")} and ${rest} more` : names.join(", ");
}
