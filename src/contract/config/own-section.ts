import { scanJson } from "../json/json-scan.ts";
import { MAX_JSON_DEPTH, withoutByteOrderMark } from "../json/json-text.ts";
import type { Operation } from "./job-operations.ts";

/** The keys on the way to a job's section in its config. */
export const SECTION_KEYS = {
  run_ml_job: ["ML params"],
  run_dl_job: ["NN params", "Dot prediction"],
} as const satisfies Record<Operation, readonly [string, ...string[]]>;

/**
 * The text of the job's own section in its config: the value of `ML params` or `NN params`, as the caller wrote it. Sections next to `Dot
 * prediction` belong to other services and may contain their secrets: each becomes `{}`.
 *
 * @param text of a config that the job's parser accepted.
 */
export function ownSection(text: string, operation: Operation): string {
  const [section, ...inner] = SECTION_KEYS[operation];
  const value = membersOf(withoutByteOrderMark(text)).get(section)!;
  return withoutForeign(value, inner);
}

function withoutForeign(text: string, [own]: readonly string[]): string {
  if (own === undefined) return text;
  const members = membersOf(text);
  if (members.size === 1) return text;
  const kept = [...members].map(([key, value]) => `${JSON.stringify(key)}: ${key === own ? value : "{}"}`);
  return `{${kept.join(", ")}}`;
}

/** The text of each member of an object by its key. */
function membersOf(text: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  scanJson(text, "config", MAX_JSON_DEPTH, members);
  return members;
}
