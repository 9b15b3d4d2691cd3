import type { Intervals } from "../../contract/config/panel-settings.ts";
import type { JudgedRows, RowsVerdict, Verdict, VerdictState } from "../../contract/output/verdict.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { ForecastRows } from "../forecast-rows.ts";
import {
  datesText,
  type IntervalEvidence,
  intervalsFinding,
  isDifferent,
  ORDER_FIGURES,
  orderFinding,
  orderText,
  sizesFinding,
} from "./findings.ts";

const MIN_HEADLINE_DATES = 250;

export interface JudgedSet {
  readonly rows: JudgedRows;
  /** All labelled, tickers in any order. */
  readonly forecasts: readonly ForecastRows[];
  /** Absent without intervals. */
  readonly coverage?: IntervalEvidence | undefined;
}

const ROWS: Readonly<Record<JudgedRows, string>> = {
  score: "score rows",
  out_of_fold: "out-of-fold rows",
  calibration: "calibration rows",
  validation: "validation rows",
};

/**
 * Judges forecasts, once for every place that shows them.
 * @param sets the held-out rows first, then the score rows if any have labels; at least one.
 * @param intervals how the intervals were made; undefined without any.
 */
export function verdictOf(
  sets: readonly JudgedSet[],
  intervals: Pick<Intervals, "alpha" | "method"> | undefined,
): Verdict {
  const judged = sets.map(({ rows, forecasts, coverage }): RowsVerdict => {
    const sizes = sizesFinding(forecasts, rows);
    const found = coverage && intervals && intervalsFinding(coverage, intervals);
    return { rows, order: orderFinding(forecasts, sizes.dates), sizes, intervals: found ?? null };
  });
  return headlined(judged);
}

/** The verdict that follows from judged sets of rows. @param judged in the order of `verdictOf`, or as a verdict lists them. */
export function headlined(judged: readonly RowsVerdict[]): Verdict {
  const scored = judged.find((set) => set.rows === "score" && set.sizes.dates >= MIN_HEADLINE_DATES);
  const headline = scored ?? judged[0]!;
  const others = judged.filter((set) => set !== headline);
  const state = verdictState(headline);
  return {
    state,
    rows: headline.rows,
    title: verdictTitle(headline, state),
    sentence: [
      `${verdictTitle(headline, state)} on the ${ROWS[headline.rows]}.`,
      ...[headline.order, headline.sizes, headline.intervals].flatMap((finding) => finding?.sentence ?? []),
      ...(headline.rows === "validation"
        ? ["Each network's epoch was chosen on these rows, so results on them are too good."]
        : []),
      ...others.flatMap((other) => comparison(headline, other)),
    ].join(" "),
    judged: [headline, ...others],
  };
}

/** Says in the verdict what may be behind it: features on other dates than prices may know the returns. */
export function withWarning<V extends Pick<Verdict, "sentence">>(
  verdict: V,
  warnings: readonly Warning[],
): V {
  const dates = warnings.find(({ code }) => code === "unpriced_dates");
  return dates === undefined ? verdict : { ...verdict, sentence: `${verdict.sentence} ${dates.message}` };
}

const TITLES: Readonly<Record<VerdictState, string>> = {
  skill: "Evidence of skill",
  oversized: "Evidence of skill, sizes too large",
  none: "No evidence of skill",
  worse: "No evidence of skill, sizes worse than zero",
  too_few: "Too few dates to judge",
};

function verdictTitle({ order }: RowsVerdict, state: VerdictState): string {
  return state === "worse" && order.state === "worse" ? "Worse than chance" : TITLES[state];
}

/** Whether the forecasts contain anything that chance does not explain: an order, or sizes after allowing for noise. */
export function hasSkill({ order, sizes }: RowsVerdict): boolean {
  return order.state === "evidence" || sizes.informative;
}

export function verdictState(set: RowsVerdict): VerdictState {
  const { order, sizes } = set;
  if (sizes.state === "too_few") return "too_few";
  const { r2 } = sizes.against.zero;
  if (hasSkill(set)) return r2 !== null && r2 < 0 ? "oversized" : "skill";
  return order.state === "worse" || sizes.state === "worse" ? "worse" : "none";
}

function clarkWestFound({ sizes: { against, quantile } }: RowsVerdict): string {
  const found = (["zero", "mean"] as const).flatMap((name) => {
    const { clark_west_t: t } = against[name];
    return t === null ? [] : [`${t.toFixed(2)} against ${name === "zero" ? "zero" : "the training mean"}`];
  });
  if (found.length === 0 || quantile === null) return "no information about sizes";
  return `Clark-West t ${found.join(" and ")}, ${quantile.toFixed(2)} needed`;
}

/**
 * One sentence if the order on the other rows differs by more than chance, or if they lead to another finding. Sizes are not compared: only
 * the forecasts of score rows are shrunk.
 */
function comparison(headline: RowsVerdict, other: RowsVerdict): string[] {
  if ([headline, other].map(verdictState).includes("too_few")) return [];
  const rows = `The ${ROWS[other.rows]} (${datesText(other.sizes.dates)})`;
  const [first, second] = [headline.order, other.order];
  const isOrder = first.form === second.form && second.figure !== null;
  const order = isOrder ? orderText(second) : "no order to compare";
  if (isOrder && isDifferent(first, second)) return [`${rows} disagree by more than chance: ${order}.`];
  if (hasSkill(headline) === hasSkill(other)) return [];
  const [finding, skilled] = hasSkill(other)
    ? ["show evidence of skill", other]
    : ["alone show no evidence of skill", headline];
  // The finding behind the skill: an order, or else sizes, which are not compared.
  if (skilled.order.state !== "evidence") return [`${rows} ${finding} (${clarkWestFound(other)}).`];
  const chance = isOrder ? `; the difference in ${ORDER_FIGURES[second.form].name} is within chance` : "";
  return [`${rows} ${finding} (${order})${chance}.`];
}
