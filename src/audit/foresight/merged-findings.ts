import { counted } from "../../contract/errors/wording.ts";
import type { Finding } from "../check.ts";

/** Up to this many features of a code get separate findings. */
const MAX_SEPARATE = 3;

const FEATURES_SHOWN = 10;

/**
 * Merges findings of one code and severity if they concern more than MAX_SEPARATE features: a blob that is dated a day early, or
 * omitted rows, show in each feature and are one cause.
 * @param findings one per feature; within a code, the clearest first.
 */
export function merged(findings: readonly Finding[]): Finding[] {
  const groups = Map.groupBy(findings, ({ code, severity }) => `${severity} ${code}`);
  return [...groups.values()].flatMap((group) => (group.length <= MAX_SEPARATE ? group : [joined(group)]));
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
