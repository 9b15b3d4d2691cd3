import type { Failure } from "./output-blob.ts";

/** What befell a ticker, in a sentence that names it once: most messages begin with their ticker already. */
export function namedFailure({ ticker, message }: Omit<Failure, "code">): string {
  const after = message.startsWith(ticker) ? message.charAt(ticker.length) : undefined;
  return after === " " || after === ":" ? message : `${ticker}: ${message}`;
}
