import { isRawNumber } from "./json-text.ts";

/**
 * One text for all JSON texts that mean the same: keys sorted by their UTF-16 units, no white space, strings with
 * JSON.stringify's escapes. Numbers keep their own text, because the libraries tell `1` from `1.0`.
 *
 * @param value a tree of `rawNumbers`, at most DEEPEST_JSON levels and a few more.
 */
export function canonicalJson(value: unknown): string {
  if (isRawNumber(value) || typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, held]) => `${JSON.stringify(key)}:${canonicalJson(held)}`).join(",")}}`;
}
