import type { Verdict } from "../../contract/output/verdict.ts";
import { type AdjustedVerdict, adjustedVerdict } from "./adjusted-verdict.ts";
import type { CheckVerdicts } from "./check-verdicts.ts";
import { onCommonRows } from "./common-rows.ts";
import { type ComparisonTests, comparisonTests } from "./comparison-tests.ts";
import type { OutputEvidence } from "./output-evidence.ts";

/** An output with the verdicts of replays and audits on it. */
export interface CheckedOutput extends CheckVerdicts {
  readonly evidence: OutputEvidence;
}

/** What the sections of a report draw. */
export interface Report {
  readonly title: string;
  /** In the given order. */
  readonly outputs: readonly ReportedOutput[];
  /** Of the outputs against each other; only with several outputs. */
  readonly tests?: ComparisonTests;
}

export interface ReportedOutput extends CheckVerdicts {
  /** The name of the model, such as `lightgbm`; outputs with the same model get a number. */
  readonly name: string;
  /** The output on all its rows. */
  readonly whole: OutputEvidence;
  /** The output on the rows that all outputs of the report have. */
  readonly common: OutputEvidence;
  /** The verdict on the common rows, adjusted for the number of outputs; only with several outputs. */
  readonly adjusted?: AdjustedVerdict | undefined;
}

/**
 * Puts outputs side by side on the rows that all of them have.
 * @param outputs at least one.
 * @throws MucastError invalid_data if outputs come from different prices.
 */
export function reportOf(outputs: readonly CheckedOutput[]): Report {
  const whole = outputs.map(({ evidence }) => evidence);
  const names = distinctNames(whole.map(({ modelName }) => modelName));
  const title = `Forecasts of ${names.join(", ")}`;
  const reported = outputs.map(({ evidence, replay, audit }, i): ReportedOutput => {
    return { name: names[i]!, whole: evidence, common: evidence, replay, audit };
  });
  if (outputs.length === 1) return { title, outputs: reported };
  const common = onCommonRows(whole);
  const tests = comparisonTests(common.map(({ labelled }) => labelled));
  const adjusted = common.map(
    ({ verdict }, i) => verdict && adjustedVerdict(verdict, tests.skill?.[i], outputs.length),
  );
  return {
    title,
    outputs: reported.map((output, i) => ({ ...output, common: common[i]!, adjusted: adjusted[i] })),
    tests,
  };
}

/** The state of the verdict on an output in its report. */
export function stateOf({ common, adjusted }: ReportedOutput): Verdict["state"] {
  return (adjusted ?? common.verdict)?.state ?? "too_few";
}

/** Outputs with the same model get their position as a number. */
function distinctNames(names: readonly string[]): string[] {
  return names.map((name, i) =>
    names.filter((other) => other === name).length === 1 ? name : `${name} (${i + 1})`,
  );
}
