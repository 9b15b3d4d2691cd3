import { counted } from "../../contract/errors/wording.ts";
import { choiceFaults } from "../../evaluate/choice/prequential.ts";
import type { Finding } from "../check.ts";
import { finding } from "../findings.ts";
import { outputMember, outputParts } from "../job/output-parts.ts";

/**
 * Chooses the candidates of an output again from the losses that it records.
 * @param path of an output on this machine.
 * @returns one finding if any of its members differ; none for an output without a choice.
 */
export async function chosenMembersFindings(path: string, signal: AbortSignal): Promise<Finding[]> {
  const choice = await outputMember(path, "choice", signal);
  if (choice === undefined) return [];
  const faults = choiceFaults(choice, [...(await foldDates(path, signal))]);
  const [first] = faults;
  if (first === undefined) return [];
  const others = faults.length === 1 ? "" : `; ${counted(faults.length - 1, "more difference")}`;
  const message = `${first.at} has ${first.recorded || "none"}, and the losses support ${first.recomputed}${others}`;
  return [
    finding("choice_unsupported", {
      message,
      evidence: {
        at: first.at,
        recorded: first.recorded,
        recomputed: first.recomputed,
        differences: faults.length,
      },
    }),
  ];
}

/** The first dates of all published folds. */
async function foldDates(path: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const dates = new Set<string>();
  for await (const { part, value } of outputParts(path, signal)) {
    if (part !== "cross_validation") continue;
    for (const { test_start: first } of value.folds) dates.add(first);
  }
  return dates;
}
