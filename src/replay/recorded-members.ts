import { choiceSchema, type OutputChoice } from "../contract/output/choice.ts";
import { choiceFaults } from "../evaluate/choice/recorded-choice.ts";
import type { JsonFile } from "./json-file.ts";

/** A larger `choice` is not checked: 100 candidates with losses on 5,000 dates have about 10 MB. */
const MAX_BYTES = 16 * 2 ** 20;

/** A hostile output is not checked if choosing again would take longer: candidates x dates x changes. */
const MAX_STEPS = 50_000_000;

/**
 * Chooses the candidates of an output again from the losses that it records.
 * @returns the first members that differ, as a clause; undefined if all agree, without a choice, and for one that cannot be checked.
 */
export async function unsupportedMembers(output: JsonFile): Promise<string | undefined> {
  const member = output.members.get("choice");
  if (member === undefined || member.end - member.start > MAX_BYTES) return undefined;
  const choice = choiceSchema.safeParse(await output.parse(member));
  if (!choice.success || stepsOf(choice.data) > MAX_STEPS) return undefined;
  const [fault] = choiceFaults(choice.data);
  return fault && `${fault.at} has ${fault.recorded || "none"}, and its losses support ${fault.recomputed}`;
}

function stepsOf({ changes, losses }: OutputChoice): number {
  const values = losses.excess.reduce((sum, own) => sum + own.length, 0);
  return values * (changes.length + 1);
}
