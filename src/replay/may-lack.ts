import { z } from "zod";
import { outputBlobSchema } from "../contract/output/output-blob.ts";
import type { MayLack } from "./compare-values.ts";

/** For an output that records everything that this version records: nothing may be missing. */
export const mayLackNothing: MayLack = () => undefined;

/**
 * For an output of an older version: members that are optional in the schema, because later versions added them, and settings of the
 * resolved configuration (`model`).
 */
export const mayLackOptional: MayLack = (path) => {
  let schema: z.ZodType = outputBlobSchema;
  const pattern: string[] = [];
  for (const [depth, part] of path.entries()) {
    const isLast = depth === path.length - 1;
    const inside = withoutWrappers(schema);
    if (inside instanceof z.ZodObject) {
      const member = (inside.shape as Record<string, z.ZodType>)[String(part)];
      pattern.push(String(part));
      if (member === undefined) {
        const rest = path.slice(depth + 1).map((inner) => (typeof inner === "number" ? "*" : inner));
        return isLoose(inside) ? [...pattern, ...rest].join(".") : undefined;
      }
      if (isLast) return member instanceof z.ZodOptional ? pattern.join(".") : undefined;
      schema = member;
    } else if (inside instanceof z.ZodRecord || inside instanceof z.ZodArray) {
      pattern.push("*");
      if (isLast) return undefined;
      schema = (inside instanceof z.ZodArray ? inside.element : inside.valueType) as z.ZodType;
    } else return undefined;
  }
  return undefined;
};

/** Strict objects have a catchall too, which accepts nothing. */
function isLoose({ def }: z.ZodObject): boolean {
  return def.catchall !== undefined && !(def.catchall instanceof z.ZodNever);
}

function withoutWrappers(schema: z.ZodType): z.ZodType {
  let inside = schema;
  while (inside instanceof z.ZodOptional || inside instanceof z.ZodNullable)
    inside = inside.unwrap() as z.ZodType;
  return inside;
}
