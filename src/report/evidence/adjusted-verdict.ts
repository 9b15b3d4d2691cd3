import type { Verdict as ForecastVerdict, RowsVerdict } from "../../contract/output/verdict.ts";
import { verdictState, verdictTitle } from "../../evaluate/verdict/verdict.ts";
import { pFigure } from "../figures.ts";
import type { AdjustedTest } from "../statistics/stepwise-tests.ts";
import { type AdjustedSkill, LEVEL } from "./comparison-tests.ts";

/** The verdict on one of several outputs: the evidence of that output, minus what the number of outputs explains. */
export interface AdjustedVerdict extends Pick<ForecastVerdict, "state" | "title"> {
  /** Including the sentences of the unadjusted verdict. */
  readonly sentences: readonly string[];
  /** The rows behind the headline, adjusted. */
  readonly judged: RowsVerdict | undefined;
}

/**
 * Evidence that an output shows alone counts beside others if its adjusted test has a p of at most LEVEL; nothing is added to it.
 * @param alone on the rows that all outputs have.
 * @param skill undefined if there are too few dates to test.
 */
export function adjustedVerdict(
  alone: ForecastVerdict,
  skill: AdjustedSkill | undefined,
  outputs: number,
): AdjustedVerdict {
  const [judged] = alone.judged;
  if (skill === undefined || judged === undefined || alone.state === "too_few")
    return { state: alone.state, title: alone.title, judged, sentences: verdictSentences(alone) };
  const adjusted = adjustedRows(judged, skill);
  const state = verdictState(adjusted);
  const title = verdictTitle(adjusted, state);
  return { state, title, judged: adjusted, sentences: sentencesOf({ title, state }, alone, skill, outputs) };
}

function sentencesOf(
  { title, state }: Pick<ForecastVerdict, "title" | "state">,
  alone: ForecastVerdict,
  { order, sizes, worseOrder, worseSizes }: AdjustedSkill,
  outputs: number,
): string[] {
  const contrary =
    state === "worse"
      ? `, ${pFigure(worseOrder.p)} for an order worse than chance, ${pFigure(worseSizes.p)} for a squared error above that of the zero forecast`
      : "";
  const counted = `${title} on the common rows, after correction for ${outputs} outputs (Romano and Wolf 2005): adjusted p ${pFigure(order.p)} for skill in the order, ${pFigure(sizes.p)} for skill in the sizes${contrary}; ${LEVEL} needed.`;
  const [first, ...rest] = verdictSentences(alone);
  if (title === alone.title) return [counted, ...rest];
  const luck = `On its own, this output has the verdict "${alone.title}", but among several outputs one easily looks that good by chance. The next sentences judge the output on its own.`;
  return [counted, luck, first!, ...rest];
}

/** The sentence of a verdict, one line for each of its sentences. */
export function verdictSentences({ sentence }: Pick<ForecastVerdict, "sentence">): string[] {
  return sentence.split(/(?<=\.) (?=[A-Z])/);
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
