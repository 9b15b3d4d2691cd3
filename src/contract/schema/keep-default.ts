import type { z } from "zod";

interface Converted {
  readonly zodSchema: z.core.$ZodTypes;
  readonly jsonSchema: z.core.JSONSchema.BaseSchema;
}

/** An `override` of z.toJSONSchema, which omits the default if a schema reads its input by a function, as queryCount does. */
export function keepDefault({ zodSchema, jsonSchema }: Converted): void {
  const { def } = zodSchema._zod;
  if (def.type === "default")
    jsonSchema.default ??= def.defaultValue as z.core.JSONSchema.BaseSchema["default"];
}
