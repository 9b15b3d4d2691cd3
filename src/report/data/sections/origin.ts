import { WARNING_TABLE } from "../../../contract/problems/warnings.ts";
import type { OutputSummary } from "../../../outputs/output-summary.ts";
import type { CheckVerdicts } from "../check-verdicts.ts";
import type { NamedText, Origin } from "../report-data.ts";
import { importancesOf } from "./importances.ts";

/** The origin of the numbers, and the warnings and failures of the job. */
export function originOf(document: OutputSummary, { replay, audit }: CheckVerdicts): Origin {
  return {
    warnings: document.warnings.map(({ code, ticker, message }) => ({
      code,
      ticker,
      message,
      cure: Object.hasOwn(WARNING_TABLE, code)
        ? WARNING_TABLE[code as keyof typeof WARNING_TABLE].cure
        : undefined,
    })),
    failures: document.failures,
    provenance: named({ ...document.provenance, machine: document.machine }),
    model: named(document.model),
    importances: importancesOf(document),
    replay,
    audit,
  };
}

/** The config of a job is a few levels deep; deeper or later members do not come from a job of mucast. */
const MAX_DEPTH = 6;
const MAX_NAMES = 300;

/** The leaves of a plain object, with names such as `blas.numpy.name`. */
function named(part: object): NamedText[] {
  const found: NamedText[] = [];
  collect(part, "", 0, found);
  return found;
}

function collect(part: object, before: string, depth: number, found: NamedText[]): void {
  for (const [name, value] of Object.entries(part)) {
    if (found.length === MAX_NAMES) return;
    const path = `${before}${name}`;
    if (typeof value === "object" && value !== null && !isLeaf(value)) {
      if (depth < MAX_DEPTH) collect(value, `${path}.`, depth + 1, found);
    } else if (value !== undefined) {
      found.push({ name: path, text: typeof value === "string" ? value : JSON.stringify(value) });
    }
  }
}

/** Whether it is an object without members, or a list of plain values. */
function isLeaf(value: object): boolean {
  const members = Object.values(value);
  return members.length === 0 || (Array.isArray(value) && members.every((item) => typeof item !== "object"));
}
