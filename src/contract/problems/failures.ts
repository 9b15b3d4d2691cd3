import { z } from "zod";

/** A ticker that a job went on without. */
export const failureSchema = z
  .strictObject({ ticker: z.string(), code: z.string(), message: z.string() })
  .meta({ id: "Failure", description: "A ticker without forecasts, and why; the others are not affected." });

export type Failure = z.infer<typeof failureSchema>;

/** The message of a ticker's failure with the ticker before it; most messages begin with their ticker already. */
export function namedFailure({ ticker, message }: Omit<Failure, "code">): string {
  const after = message.startsWith(ticker) ? message.charAt(ticker.length) : undefined;
  return after === " " || after === ":" ? message : `${ticker}: ${message}`;
}
