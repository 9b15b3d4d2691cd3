import type { AuditFacts } from "../../contract/output/audit-blob.ts";
import { testQuantile } from "../../contract/output/test-quantile.ts";
import type { OrderFinding, RowsVerdict, Verdict } from "../../contract/output/verdict.ts";
import { hasSkill, verdictState } from "../../evaluate/verdict/verdict.ts";
import type { Finding } from "../check.ts";
import { finding } from "../findings.ts";
import type { DateIcs, SkillParts } from "./skill-parts.ts";

/** The rows that the check judges. */
export type SkillPlace = "score" | "out_of_fold";

const PLACES: Readonly<Record<SkillPlace, string>> = {
  score: "on the score rows",
  out_of_fold: "out of fold",
};

/** Chance gives forecasts without skill a p this small in one of twenty audits; 19 permutations can reach it. */
const CHANCE = 0.05;

/** Whether the lasting part has a t beyond chance over dates, and a rank beyond chance over tickers. */
function hasLasting({ lasting: { t, quantile, p } }: SkillParts): boolean {
  return t !== null && quantile !== null && t >= quantile && p <= CHANCE;
}

function hasTiming({ timing }: SkillParts): boolean {
  return timing.p <= CHANCE;
}

/** How the parts of the IC compare with the job's own verdict. */
export interface SkillJudgement {
  readonly findings: readonly Finding[];
  readonly facts: AuditFacts;
}

/**
 * The note on one set of rows, if there is one. The job's verdict on the same rows decides whether there is skill; if the parts say
 * something else, the note says why.
 * @param verdict of the job's output; undefined if it has none.
 */
export function judgeSkill(
  place: SkillPlace,
  parts: SkillParts,
  verdict: Verdict | undefined,
): SkillJudgement {
  const own = verdict?.judged.find(({ rows }) => rows === place);
  const found = { lasting: hasLasting(parts), timing: hasTiming(parts) };
  const isPart = found.lasting || found.timing;
  const isSkilled = own === undefined ? isPart : hasSkill(own);
  const facts = {
    ...figures(parts),
    evidence: { ...found },
    job_verdict: own === undefined ? null : verdictState(own),
  };
  if (isSkilled && isPart) return { findings: [], facts };
  const evidence = { place, ...facts };
  const icParts = `${lastingText(parts)}, ${timingText(parts)}`;
  if (isSkilled) {
    const message = `The job's verdict ${PLACES[place]} is evidence of skill, but neither part of it shows skill on its own: ${icParts}. The verdict also tests both parts together, and the sizes of the forecasts.`;
    return { findings: [finding("skill_in_no_part", { message, evidence })], facts };
  }
  const isDisputed = isPart
    ? " A part that passes its own test is no evidence here: the verdict judges the forecasts as a whole, and what they add to the training means of the tickers."
    : "";
  const message = `The forecasts show no evidence of skill ${PLACES[place]}: ${icParts}.${isDisputed}`;
  return { findings: [finding("no_skill", { message, evidence, ...adviceOf(verdict, place) })], facts };
}

/** If the headline of the job finds skill on other rows, a note must not say the opposite. */
function adviceOf(verdict: Verdict | undefined, place: SkillPlace): Pick<Finding, "advice"> | object {
  if (verdict === undefined || verdict.rows === place) return {};
  if (verdict.state !== "skill" && verdict.state !== "oversized") return {};
  return {
    advice: `The job's verdict is based on other rows (${verdict.rows}) and finds skill there, but these rows do not confirm it. The blobs are not at fault.`,
  };
}

function lastingText({ lasting }: SkillParts): string {
  return `lasting differences between tickers have an IC of ${icText(lasting)}`;
}

function timingText({ timing }: SkillParts): string {
  return `changes over time have an IC of ${timing.icMean?.toFixed(4) ?? "none"}, number ${timing.rank} of ${timing.permutations + 1} among the ICs with permuted labels (p ${timing.p.toFixed(2)})`;
}

function icText({ icMean, t, quantile, p }: SkillParts["lasting"]): string {
  if (icMean === null) return "none";
  return `${icMean.toFixed(4)} (t ${t?.toFixed(2) ?? "none"}, ${quantile?.toFixed(2) ?? "more dates"} needed; p ${p.toFixed(2)} over tickers)`;
}

function figures({ whole, lasting, timing }: SkillParts): AuditFacts {
  const { rank, permutations, p, highestPermuted } = timing;
  return {
    ...icFigures(whole),
    lasting: { ...icFigures(lasting), p: lasting.p },
    timing: { ...icFigures(timing), rank, permutations, p, highest_permuted: highestPermuted },
  };
}

function icFigures({ icMean, t, dates, quantile }: DateIcs): AuditFacts {
  return { ic_mean: icMean, t, dates, quantile };
}

/**
 * The maximum plausible mean daily IC of a job across tickers; our own choice, slightly more than the 0.052 that the best model of
 * Qlib's benchmarks reaches (the 300 stocks of the CSI 300; its rank IC is 0.067).
 */
const MAX_IC = 0.06;

/**
 * The same over time, for up to four tickers: an index of thinly traded stocks honestly follows its own last return, so the limit is
 * higher.
 */
const MAX_CORRELATION_OVER_TIME = 0.1;

/** A correlation of normal values times this is the mean return on the side of the forecast, in deviations. */
const SIGN_SHARE = Math.sqrt(2 / Math.PI);

/** A job whose true figure is the limit is found in one of a hundred cases. */
const PROBABILITY = 0.99;

/** A job whose order exceeds the limit by more than chance explains. */
export function implausibleJob(verdict: Verdict | undefined, isAccepted: boolean): Finding[] {
  const beyond = (verdict?.judged ?? []).filter(({ order }) => isImplausible(order));
  const [first, ...others] = beyond;
  if (first === undefined) return [];
  const also = others.length === 0 ? "" : ` The same holds for its ${others.map(nameOf).join(" and ")}.`;
  const { figure, t, dates } = first.order;
  const message = `The forecasts have ${icName(first.order)} of ${figure!.toFixed(3)} (t ${t?.toFixed(1) ?? "infinite"} over ${dates} dates) on the ${nameOf(first)}, and ${limitOf(first.order).toFixed(2)} is the most that an honest job may show.${also} A synthetic market with a planted signal shows such a figure, and so do prices that bounce between bid and ask. A real market that can be traded at these prices hardly does.`;
  const evidence = {
    limit: limitOf(first.order),
    rows: beyond.map(({ rows, order }) => ({
      rows,
      form: order.form,
      figure: order.figure,
      t: order.t,
      dates: order.dates,
    })),
  };
  const accepted = isAccepted
    ? { severity: "note" as const, advice: "Acknowledged by `accept` (--accept implausible_job)." }
    : {};
  return [finding("implausible_job", { message, evidence, ...accepted })];
}

/**
 * Whether the figure exceeds its limit by the errors that chance exceeds once in a hundred times, and so does what the forecasts add
 * to the training mean: lasting means order returns strongly and honestly.
 */
export function isImplausible(order: OrderFinding): boolean {
  const { figure, t, added_figure = null, added_t = null } = order;
  return isBeyond(figure, t, order) && (added_figure === null || isBeyond(added_figure, added_t, order));
}

function isBeyond(figure: number | null, t: number | null, order: OrderFinding): boolean {
  if (figure === null || order.quantile === null) return false;
  const error = t === null || t === 0 ? 0 : figure / t;
  return figure - testQuantile(order.method, order.dates, PROBABILITY) * error > limitOf(order);
}

function limitOf({ form, method }: Pick<OrderFinding, "form" | "method">): number {
  if (form === "cross_section") return MAX_IC;
  // Outputs of 0.2.0 have the correlation itself.
  return method === "student" ? SIGN_SHARE * MAX_CORRELATION_OVER_TIME : MAX_CORRELATION_OVER_TIME;
}

function icName({ form, method }: OrderFinding): string {
  if (form === "cross_section") return "a mean IC";
  return method === "student"
    ? "a mean return on the side of the forecast, in deviations,"
    : "a correlation over time";
}

function nameOf({ rows }: RowsVerdict): string {
  return `${rows.replaceAll("_", "-")} rows`;
}
