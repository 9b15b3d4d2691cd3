/** Limits of MLflow's REST API: characters of a name and of values, and entries of one request. */
export const MLFLOW_LIMITS = {
  name: 250,
  param: 6_000,
  tag: 8_000,
  params: 100,
  tags: 100,
  metrics: 1_000,
} as const;

/**
 * A name that MLflow accepts for a param, a metric or a tag: letters, digits, `_`, `-`, `.`, `:`, spaces, and single slashes between parts
 * that are not `.` or `..`. Any other character becomes `_`.
 */
export function mlflowName(text: string): string {
  const parts = text.replaceAll(/[^\w./: -]/g, "_").split("/");
  const named = parts.map((part) => (/^\.{0,2}$/.test(part) ? "_".repeat(Math.max(1, part.length)) : part));
  const name = named.join("/");
  return name.length <= MLFLOW_LIMITS.name
    ? name
    : name.slice(0, MLFLOW_LIMITS.name).replace(/\/\.{0,2}$/, "_");
}

/** The text with at most `most` characters; an ellipsis replaces the rest. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  // Not half of a surrogate pair, which is no valid JSON text.
  return `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
