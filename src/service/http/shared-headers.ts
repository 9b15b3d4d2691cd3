import { z } from "zod";
import type { HeaderDoc } from "./route-docs.ts";

export const preferHeader = z
  .string()
  .optional()
  .describe(
    "`wait=N`: the answer may wait N seconds, at most 60, for the end of the operation (RFC 7240). " +
      "`Preference-Applied` tells that it did.",
  );

/** Headers of an answer that is an operation. */
export const OPERATION_HEADERS: Readonly<Record<string, HeaderDoc>> = {
  "Operation-Location": { type: "string", description: "Absolute URL of the operation." },
  "Retry-After": {
    type: "integer",
    description: "Seconds after which asking again makes sense, while it goes on.",
  },
  "Preference-Applied": { type: "string", description: "`wait=N` where the answer has waited." },
};
