import type { AuditCheck } from "./check.ts";
import { foresight } from "./foresight/foresight.ts";
import { restatement } from "./restatement/restatement.ts";
import { skill } from "./skill/skill.ts";
import { truncation } from "./truncation/truncation.ts";

/** Every check of an audit, in the order in which they run. */
export const CHECKS: readonly AuditCheck[] = [truncation, restatement, foresight, skill];
