import type { z } from "zod";

/** A check for a list of zod: each entry that equals an earlier one is a fault. */
export function distinctEntries({ value, issues }: z.core.ParsePayload<string[]>): void {
  for (const [i, entry] of value.entries()) {
    if (value.indexOf(entry) < i)
      issues.push({ code: "custom", path: [i], message: "must not appear twice", input: entry });
  }
}
