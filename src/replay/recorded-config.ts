import { createHash } from "node:crypto";
import type { Operation } from "../contract/config/job-operations.ts";
import { rawNumbers } from "../contract/json/json-text.ts";
import type { RecordedFacts } from "./recorded-output.ts";
import { isRefusal } from "./refusals.ts";

/** The config that a replay runs, or the reason why there is none. */
export type ReplayConfig =
  | { readonly text: string }
  | { readonly reason: "config_missing" | "config_differs" };

const SECTIONS: Readonly<Record<Operation, string>> = { run_ml_job: "ML params", run_dl_job: "NN params" };

/**
 * The config of the new run: the recorded section, with an empty object for each other section that the job was given, so that its
 * warnings are the same. If the output does not contain its config, the caller's config is used if it has the recorded digest. The
 * text may be one that the job refuses.
 */
export function replayConfig(facts: RecordedFacts, given: string | undefined): ReplayConfig {
  const { config, config_sha256: recorded } = facts.provenance;
  if (given !== undefined) {
    const digest = createHash("sha256").update(given).digest("hex");
    if (digest !== recorded) return { reason: "config_differs" };
    return { text: facts.intervalsWithoutMethod ? withSplit(given, facts.operation) : given };
  }
  if (config === undefined || config === null) return { reason: "config_missing" };
  const text = withOtherSections(config, facts);
  return { text: facts.intervalsWithoutMethod ? withSplit(text, facts.operation) : text };
}

/** Sections inside the recorded one are already empty objects. */
function withOtherSections(section: string, { operation, otherSections }: RecordedFacts): string {
  const own = SECTIONS[operation];
  const inside = `${own}.`;
  const beside = otherSections.filter((name) => name !== own && !name.startsWith(inside));
  const members = [...new Set(beside)].map((name) => `${JSON.stringify(name)}:{}`);
  return `{${[...members, `${JSON.stringify(own)}:${section}`].join(",")}}`;
}

/** Before there were methods, intervals were `split`. */
function withSplit(text: string, operation: Operation): string {
  const config = jsonOf(text);
  const section = memberOf(config, SECTIONS[operation]);
  const settings = operation === "run_ml_job" ? section : memberOf(section, "Dot prediction");
  const intervals = memberOf(settings, "intervals");
  if (!isObject(settings) || !isObject(intervals) || Object.hasOwn(intervals, "method")) return text;
  settings.intervals = { ...intervals, method: "split" };
  return JSON.stringify(config);
}

/** Undefined for a text that the job will refuse. */
function jsonOf(text: string): unknown {
  try {
    return rawNumbers(text);
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
