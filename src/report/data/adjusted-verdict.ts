import type { Verdict as ForecastVerdict, RowsVerdict } from "../../contract/output/verdict.ts";
import { verdictState, verdictTitle } from "../../evaluate/verdict/verdict.ts";
import type { AdjustedTest } from "../statistics/stepwise-tests.ts";
import { type AdjustedSkill, LEVEL } from "./comparison-tests.ts";
import { pFigure } from "./figures.ts";

/** The verdict on one of several outputs: what it shows alone, less what their number explains. */
export interface AdjustedVerdict extends Pick<ForecastVerdict, "state" | "title"> {
  /** In front of the sentences of the verdict alone. */
  readonly sentences: readonly string[];
}

/**
 * Evidence that an output shows alone counts beside others where its adjusted test has a p of LEVEL at most; nothing is added to it.
 * @param alone on the rows that all outputs have.
 * @param skill undefined where there are too few dates to test.
 */
export function adjustedVerdict(
  alone: ForecastVerdict,
  skill: AdjustedSkill | undefined,
  outputs: number,
): AdjustedVerdict {
  const [judged] = alone.judged;
  if (skill === undefined || judged === undefined || alone.state === "too_few")
    return { ...alone, sentences: [] };
  const adjusted = adjustedRows(judged, skill);
  const state = verdictState(adjusted);
  const title = verdictTitle(adjusted, state);
  return { state, title, sentences: sentencesOf(title, alone.title, skill, outputs) };
}

function sentencesOf(
  title: string,
  aloneTitle: string,
  { order, sizes }: AdjustedSkill,
  outputs: number,
): string[] {
  const counted = `${title} on the common rows, with ${outputs} outputs counted (Romano and Wolf 2005): the adjusted p is ${pFigure(order.p)} for the order and ${pFigure(sizes.p)} for the sizes, ${LEVEL} needed.`;
  if (title === aloneTitle) return [counted];
  return [
    counted,
    `Alone, this output would be called "${aloneTitle}": of several outputs, one easily looks so by chance. What follows judges it alone.`,
  ];
}

function adjustedRows(judged: RowsVerdict, skill: AdjustedSkill): RowsVerdict {
  const { order, sizes } = judged;
  const informative = sizes.informative && isFound(skill.sizes);
  const isWorse = sizes.state === "worse" && isFound(skill.worseSizes);
  return {
    ...judged,
    order: { ...order, state: isKept(order.state, skill) ? order.state : "none" },
    sizes: { ...sizes, informative, state: isWorse ? "worse" : informative ? "evidence" : "none" },
  };
}

function isKept(state: RowsVerdict["order"]["state"], { order, worseOrder }: AdjustedSkill): boolean {
  if (state === "evidence") return isFound(order);
  return state !== "worse" || isFound(worseOrder);
}

function isFound({ p }: AdjustedTest): boolean {
  return p !== null && p <= LEVEL;
}
