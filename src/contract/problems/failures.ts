import { z } from "zod";
import type { ErrorCode } from "../errors/error-codes.ts";
import { MucastError } from "../errors/errors.ts";

/** A ticker that failed while its job continued. */
export const failureSchema = z
  .strictObject({ ticker: z.string(), code: z.string(), message: z.string() })
  .meta({ id: "Failure", description: "A ticker without forecasts, and why; the others are not affected." });

export type Failure = z.infer<typeof failureSchema>;

/** The message of a ticker's failure, preceded by the ticker; most messages begin with their ticker already. */
export function namedFailure({ ticker, message }: Omit<Failure, "code">): string {
  const after = message.startsWith(ticker) ? message.charAt(ticker.length) : undefined;
  return after === " " || after === ":" ? message : `${ticker}: ${message}`;
}

/** Whether a job lost the ticker together with its engine's processes, which says nothing about its inputs. */
export function isCrash({ code }: Pick<Failure, "code">): boolean {
  return code === ("engine_crashed" satisfies ErrorCode);
}

/** The first ticker that was lost this way, for a job that has ended without an output; undefined for another error. */
export function crashIn(error: unknown): Failure | undefined {
  return error instanceof MucastError ? error.data.failures?.find(isCrash) : undefined;
}
