import { counted } from "../../contract/errors/wording.ts";
import type { Finding } from "../check.ts";

/** Up to so many features of a code are told apart. */
const TOLD_APART = 3;

const FEATURES_SHOWN = 10;

/**
 * Joins findings of one code and severity where they are of more than TOLD_APART features: a blob that is dated a day early, or rows that
 * were left out, show in each feature, and are one cause.
 * @param findings each of one feature; those of a code the clearest first.
 */
export function merged(findings: readonly Finding[]): Finding[] {
  const groups = Map.groupBy(findings, ({ code, severity }) => `${severity} ${code}`);
  return [...groups.values()].flatMap((group) => (group.length <= TOLD_APART ? group : [joined(group)]));
}

function joined(group: readonly Finding[]): Finding {
  const [first, ...others] = group;
  const { feature: _, ticker: __, ...rest } = first!;
  const names = group.map(({ feature }) => feature!);
  const shown = names.slice(0, FEATURES_SHOWN);
  const listed = names.length > shown.length ? `${shown.join(", ")} and others` : shown.join(", ");
  return {
    ...rest,
    message: `${counted(names.length, "feature")} show the same: ${listed}. ${first!.message}`,
    evidence: {
      features: names.length,
      first_features: shown,
      first: { feature: shown[0]!, ...first!.evidence },
      others: others
        .slice(0, FEATURES_SHOWN - 1)
        .map(({ feature, evidence }) => ({ feature: feature!, ...evidence })),
    },
  };
}
