import type { OutputBlob } from "../../../contract/output/output-blob.ts";
import { MIN_DATES } from "../../../evaluate/newey-west.ts";
import type { OutputEvidence } from "../../evidence/output-evidence.ts";
import { figure } from "../figures.ts";
import type { VolatilityCoverage } from "../section-data.ts";

type Intervals = NonNullable<OutputBlob["metrics"]["intervals"]>;

/** @returns coverage by tenths of volatility; undefined if the output does not have it for the rows of the report. */
export function volatilityCoverage(
  evidence: OutputEvidence,
  intervals: Intervals,
): VolatilityCoverage | undefined {
  const thin = thinClause(evidence, intervals);
  if (thin === undefined) return undefined;
  const { by_volatility = [], other_methods = {} } = intervals;
  const others = Object.entries(other_methods).flatMap(([name, other]) =>
    other.by_volatility === undefined
      ? []
      : [[name, other.by_volatility.map(({ coverage }) => coverage)] as const],
  );
  return {
    tenths: by_volatility.map(({ n, coverage, mean_width }) => ({ n, coverage, meanWidth: mean_width })),
    others: Object.fromEntries(others),
    finding: `${thin}; nominal coverage is ${figure(1 - intervals.alpha, "share")}.${feedbackClause(intervals, evidence.dateCount)}`,
  };
}

/**
 * Coverage on the quietest and on the wildest days.
 * @returns undefined if the output does not have it, or has it for more rows than the report covers.
 */
function thinClause({ coverage }: OutputEvidence, intervals: Intervals): string | undefined {
  const { by_volatility = [], pooled } = intervals;
  const [quietest, wildest] = [by_volatility[0]?.coverage, by_volatility.at(-1)?.coverage];
  if (quietest == null || wildest == null || coverage?.pooled.n !== pooled.n) return undefined;
  return `Coverage was ${figure(quietest, "share")} on the tenth of days with the lowest volatility and ${figure(wildest, "share")} on the tenth with the highest`;
}

function feedbackClause({ method, pooled }: Intervals, dateCount: number): string {
  if (method !== "adaptive" || dateCount < MIN_DATES) return "";
  return ` The overall coverage of ${figure(pooled.coverage, "share")} follows from the feedback on misses in any market; the evidence is in these tenths.`;
}
