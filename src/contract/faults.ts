import type { z } from "zod";
import type { Fault } from "./errors.ts";
import { nearestName } from "./nearest.ts";

/**
 * Every fault zod found, in words: the path, what is wrong with the value there, and for an unknown key the
 * nearest known one.
 * @param root the path of the checked value itself, such as `config`.
 */
export function faultsOf(error: z.ZodError, schema: z.ZodType, root: string, input: unknown): Fault[] {
  return error.issues.flatMap((issue) => {
    const path = joinPath(root, issue.path);
    if (issue.code === "unrecognized_keys") {
      const known = knownKeys(schema, issue.path);
      return issue.keys.map((key) => unknownKey(joinPath(path, [key]), key, known));
    }
    return [{ path, message: describe(issue, valueAt(input, issue.path)) }];
  });
}

/** The fault of one unknown key, with the nearest of the keys that are known there. */
export function unknownKey(path: string, key: string, known: readonly string[]): Fault {
  const suggestion = nearestName(key, known);
  const message = `unknown key ${JSON.stringify(key)}; known here: ${known.join(", ")}`;
  return suggestion === undefined ? { path, message } : { path, message, suggestion };
}

function describe(issue: z.core.$ZodIssue, value: unknown): string {
  if (value === undefined && issue.code === "invalid_type") return "is required";
  const given = value === undefined ? "" : `, got ${show(value)}`;
  return `${issue.message.replace(/^Invalid (input|option): expected/, "must be")}${given}`;
}

const LONGEST_SHOWN = 80;

/** A value as error messages show it: JSON, cut after 80 characters. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}

export function joinPath(root: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (joined, part) => (typeof part === "number" ? `${joined}[${part}]` : `${joined}.${String(part)}`),
    root,
  );
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, part) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, part)
        ? (value as Record<PropertyKey, unknown>)[part]
        : undefined,
    input,
  );
}

function knownKeys(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let here: z.ZodType | undefined = unwrap(schema);
  for (const part of path) {
    here = unwrap(shapeOf(here)?.[String(part)]);
  }
  return Object.keys(shapeOf(here) ?? {});
}

function shapeOf(schema: z.ZodType | undefined): Record<string, z.ZodType> | undefined {
  return schema === undefined ? undefined : (schema as z.ZodObject<Record<string, z.ZodType>>).shape;
}

/** Steps through optional, default and prefault to the schema inside. */
function unwrap(schema: z.ZodType | undefined): z.ZodType | undefined {
  let inner = schema;
  while (inner !== undefined && "innerType" in inner.def) inner = inner.def.innerType as z.ZodType;
  return inner;
}
