import { z } from "zod";
import { ERROR_TABLE, type ErrorCode } from "./errors.ts";
import { mayGrow } from "./open-schema.ts";

/** RFC 9457 problem details, as failed operations and refused requests carry them. */
export const problemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: mayGrow(z.enum(Object.keys(ERROR_TABLE) as [ErrorCode, ...ErrorCode[]])),
    detail: z.string(),
    advice: z.string(),
  })
  .meta({ id: "Problem", title: "Problem details" });
