import type { z } from "zod";
import { type Fault, fault, MucastError } from "./errors.ts";
import { nearestName } from "./nearest-name.ts";
import { printable } from "./wording.ts";

/**
 * A message for every fault that zod found: its path, what is wrong with the value, and for an unknown key the nearest known key.
 * @param root the path of the checked value itself, such as `config`.
 */
export function faultsOf(error: z.ZodError, schema: z.ZodType, root: string, input: unknown): Fault[] {
  return error.issues.flatMap((issue) => {
    const path = joinPath(root, issue.path);
    if (issue.code !== "unrecognized_keys") return [valueFault(path, issue, input)];
    const known = knownKeys(schema, issue.path);
    return issue.keys.map((key) => unknownKey(joinPath(path, [key]), key, known));
  });
}

export function unknownKey(path: string, key: string, known: readonly string[]): Fault {
  const names = known.length === 0 ? "" : `; known here: ${known.join(", ")}`;
  return fault(path, `unknown key ${show(key)}${names}`, nearestName(key, known));
}

export const MAX_FAULTS = 100;
const MAX_PATH_LENGTH = 300;

/**
 * The message and the data of an error with these faults: the first 100, and how many more there are, so that an answer stays small however
 * many faults a small body has.
 */
export function listedFaults(all: readonly Fault[]): { message: string; faults: readonly Fault[] } {
  const faults = all
    .slice(0, MAX_FAULTS)
    .map((fault) => ({ ...fault, path: cut(fault.path, MAX_PATH_LENGTH) }));
  const more = all.length - faults.length;
  const lines = [...faults.map(faultLine), ...(more > 0 ? [`and ${more} more`] : [])];
  return { message: lines.join("; "), faults };
}

/** The beginning of a text that is longer than this many characters. */
export function cut(text: string, longest: number): string {
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

export function faultLine({ path, message, suggestion }: Fault): string {
  return `${path}: ${message}${suggestion === undefined ? "" : ` (did you mean ${suggestion}?)`}`;
}

const JOB_OF_SECTION: Readonly<Record<string, string>> = {
  "ML params": "run_ml_job",
  "NN params": "run_dl_job",
};

function valueFault(path: string, issue: z.core.$ZodIssue, input: unknown): Fault {
  const value = valueAt(input, issue.path);
  if (value === undefined) {
    const key = String(issue.path.at(-1));
    const parent = valueAt(input, issue.path.slice(0, -1));
    const keys = typeof parent === "object" && parent !== null ? Object.keys(parent) : [];
    const isSection = issue.path.length === 1 && Object.hasOwn(JOB_OF_SECTION, key);
    const other = isSection ? keys.find((name) => Object.hasOwn(JOB_OF_SECTION, name)) : undefined;
    if (other !== undefined)
      return fault(path, `is required; ${show(other)} is the section of ${JOB_OF_SECTION[other]}`);
    const misspelt = nearestName(key, keys);
    if (misspelt === undefined) return fault(path, "is required");
    return fault(path, `is required, and ${show(misspelt)} was given`, key);
  }
  const accepted = issue.code === "invalid_value" ? issue.values.map(String) : [];
  // The value may be meant as a name, possibly as the only one of a list. The `toString` of an object may be data.
  const only = Array.isArray(value) && value.length === 1 ? value[0] : value;
  const name = typeof only === "object" && only !== null ? "" : String(only);
  return fault(path, `${rule(issue)}, got ${show(value)}`, nearestName(name, accepted));
}

function rule(issue: z.core.$ZodIssue): string {
  const origin = "origin" in issue ? issue.origin : "";
  // The noun that a bound applies to, if that is not the value itself.
  const measured = origin === "array" ? "a list of length " : origin === "string" ? "text of length " : "";
  const orEqual = "inclusive" in issue && issue.inclusive ? "=" : "";
  switch (issue.code) {
    case "invalid_type":
      if (issue.expected === "int") return "must be an integer";
      if (issue.expected === "record") return "must be an object";
      return `must be ${/^[aeio]/.test(issue.expected) ? "an" : "a"} ${issue.expected}`;
    case "invalid_value":
      return `must be one of ${issue.values.join(", ")}`;
    case "too_small":
      return origin === "string" ? "must not be empty" : `must be ${measured}>${orEqual} ${issue.minimum}`;
    case "too_big":
      return `must be ${measured}<${orEqual} ${issue.maximum}`;
    default:
      return issue.message;
  }
}

const MAX_SHOWN_LENGTH = 80;

/** A value in an error message: JSON, printable, cut after 80 characters. */
export function show(value: unknown): string {
  return cut(printable(JSON.stringify(value) ?? String(value)), MAX_SHOWN_LENGTH);
}

export function joinPath(root: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (joined, part) => (typeof part === "number" ? `${joined}[${part}]` : `${joined}.${String(part)}`),
    root,
  );
}

export function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, part) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, part)
        ? (value as Record<PropertyKey, unknown>)[part]
        : undefined,
    input,
  );
}

/** The keys of the object at `path` in a schema. The path may lead through lists. */
export function knownKeys(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  const inside = (schema: z.ZodType | undefined) =>
    unwrap(schema) as { element?: z.ZodType; shape?: Record<string, z.ZodType> } | undefined;
  let here = inside(schema);
  for (const part of path)
    here = inside(typeof part === "number" ? here?.element : here?.shape?.[String(part)]);
  return Object.keys(here?.shape ?? {});
}

/** What a schema with a default, a transform or the like is about. */
export function unwrap(schema: z.ZodType | undefined): z.ZodType | undefined {
  const def = schema?.def as { readonly innerType?: z.ZodType; readonly in?: z.ZodType } | undefined;
  const inner = def?.innerType ?? def?.in;
  return inner === undefined ? schema : unwrap(inner);
}

/** What describes the accepted values, by the beginning of the first fault's path. */
const DESCRIPTIONS = [
  ["config", "docs/config.md describes the config, and `mucast examples` prints one to start with."],
  ["--", "Correct the flags. The --help of the command describes them."],
] as const;

/** The error of a payload or config with faults: one message with the first 100 of them. */
export function invalidRequest(faults: readonly Fault[]): MucastError {
  const { message, faults: listed } = listedFaults(faults);
  const path = listed[0]?.path ?? "config";
  const advice = DESCRIPTIONS.find(([beginning]) => path.startsWith(beginning))?.[1];
  return new MucastError("invalid_request", message, { path, faults: listed, advice });
}
