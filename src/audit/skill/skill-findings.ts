import type { AuditFacts } from "../../contract/output/audit-blob.ts";
import { testQuantile } from "../../contract/output/test-quantile.ts";
import type { OrderFinding, RowsVerdict, Verdict } from "../../contract/output/verdict.ts";
import { hasSkill, verdictState } from "../../evaluate/verdict/verdict.ts";
import type { Finding } from "../check.ts";
import { finding } from "../findings.ts";
import type { DateIcs, SkillParts } from "./skill-parts.ts";

/** The rows that the check judges. */
export type SkillPlace = keyof typeof PLACES;

const PLACES = { score: "on the score rows", out_of_fold: "out of fold" } as const;

/** Chance gives forecasts without skill a p this small in one of twenty audits; 19 permutations can reach it. */
const CHANCE = 0.05;

/**
 * The note on one set of rows, if there is one. The job's verdict on the same rows decides whether there is skill; if the parts say
 * something else, the note says why.
 * @param verdict of the job's output; undefined if it has none.
 */
export function judgeSkill(
  place: SkillPlace,
  { whole, lasting, timing }: SkillParts,
  verdict: Verdict | undefined,
): { readonly findings: readonly Finding[]; readonly facts: AuditFacts } {
  const own = verdict?.judged.find(({ rows }) => rows === place);
  const { t, quantile } = lasting;
  const { rank, permutations, p, highestPermuted: highest_permuted } = timing;
  const evidence = {
    lasting: t !== null && quantile !== null && t >= quantile && lasting.p <= CHANCE,
    timing: p <= CHANCE,
  };
  const isPart = evidence.lasting || evidence.timing;
  const isSkilled = own === undefined ? isPart : hasSkill(own);
  const facts = {
    ...figuresOf(whole),
    lasting: { ...figuresOf(lasting), p: lasting.p },
    timing: { ...figuresOf(timing), rank, permutations, p, highest_permuted },
    evidence,
    job_verdict: own === undefined ? null : verdictState(own),
  };
  if (isSkilled && isPart) return { findings: [], facts };
  const lastingText =
    lasting.icMean === null
      ? "none"
      : `${lasting.icMean.toFixed(4)} (t ${t?.toFixed(2) ?? "none"}, ${quantile?.toFixed(2) ?? "more dates"} needed; p ${lasting.p.toFixed(2)} over tickers)`;
  const icParts = `lasting differences between tickers have an IC of ${lastingText}, changes over time have an IC of ${timing.icMean?.toFixed(4) ?? "none"}, number ${rank} of ${permutations + 1} among the ICs with permuted labels (p ${p.toFixed(2)})`;
  const isDisputed = isPart
    ? " A part that passes its own test is no evidence here: the verdict judges the forecasts as a whole, and what they add to the training means of the tickers."
    : "";
  const message = isSkilled
    ? `The job's verdict ${PLACES[place]} is evidence of skill, but neither part of it shows skill on its own: ${icParts}. The verdict also tests both parts together, and the sizes of the forecasts.`
    : `The forecasts show no evidence of skill ${PLACES[place]}: ${icParts}.${isDisputed}`;
  // If the headline of the job finds skill on other rows, a note must not say the opposite.
  const isElsewhere =
    !isSkilled &&
    verdict !== undefined &&
    verdict.rows !== place &&
    (verdict.state === "skill" || verdict.state === "oversized");
  const advice = isElsewhere
    ? {
        advice: `The job's verdict is based on other rows (${verdict.rows}) and finds skill there, but these rows do not confirm it. The blobs are not at fault.`,
      }
    : {};
  const code = isSkilled ? "skill_in_no_part" : "no_skill";
  return { findings: [finding(code, { message, evidence: { place, ...facts }, ...advice })], facts };
}

function figuresOf({ icMean, t, dates, quantile }: DateIcs) {
  return { ic_mean: icMean, t, dates, quantile };
}

/**
 * The most that is plausible of a job, by the form of its order; our own choices.
 * - The mean daily IC across tickers: slightly more than the 0.052 that the best model of Qlib's benchmarks reaches (the 300 stocks of the
 *   CSI 300; its rank IC is 0.067).
 * - Over time, for up to four tickers: the mean return on the side of the forecast, in deviations, at a correlation of 0.1 of normal values.
 *   An index of thinly traded stocks honestly follows its own last return, so the limit is higher.
 */
const LIMITS = { cross_section: 0.06, time_series: 0.1 * Math.sqrt(2 / Math.PI) };

const FIGURES = {
  cross_section: "a mean IC",
  time_series: "a mean return on the side of the forecast, in deviations,",
};

/** A job whose true figure is the limit is found in one of a hundred cases. */
const PROBABILITY = 0.99;

/** A job whose order exceeds the limit by more than chance explains. */
export function implausibleJob(verdict: Verdict | undefined, isAccepted: boolean): Finding[] {
  const beyond = (verdict?.judged ?? []).filter(({ order }) => isImplausible(order));
  const [first, ...others] = beyond;
  if (first === undefined) return [];
  const nameOf = ({ rows }: RowsVerdict) => `${rows.replaceAll("_", "-")} rows`;
  const { figure, t, dates, form } = first.order;
  const also = others.length === 0 ? "" : ` The same holds for its ${others.map(nameOf).join(" and ")}.`;
  const message = `The forecasts have ${FIGURES[form]} of ${figure!.toFixed(3)} (t ${t?.toFixed(1) ?? "infinite"} over ${dates} dates) on the ${nameOf(first)}, and ${LIMITS[form].toFixed(2)} is the most that an honest job may show.${also} A synthetic market with a planted signal shows such a figure, and so do prices that bounce between bid and ask. A real market that can be traded at these prices hardly does.`;
  const rows = beyond.map(({ rows, order: { form, figure, t, dates } }) => ({
    rows,
    form,
    figure,
    t,
    dates,
  }));
  const accepted = isAccepted
    ? { severity: "note" as const, advice: "Acknowledged by `accept` (--accept implausible_job)." }
    : {};
  return [finding("implausible_job", { message, evidence: { limit: LIMITS[form], rows }, ...accepted })];
}

/**
 * Whether the figure exceeds its limit by the errors that chance exceeds once in a hundred times, and so does what the forecasts add
 * to the training mean: lasting means order returns strongly and honestly.
 */
export function isImplausible(order: OrderFinding): boolean {
  const { figure, t, added_figure = null, added_t = null } = order;
  const isBeyond = (figure: number | null, t: number | null) => {
    if (figure === null || order.quantile === null) return false;
    const error = t === null || t === 0 ? 0 : figure / t;
    return figure - testQuantile(order.method, order.dates, PROBABILITY) * error > LIMITS[order.form];
  };
  return isBeyond(figure, t) && (added_figure === null || isBeyond(added_figure, added_t));
}
