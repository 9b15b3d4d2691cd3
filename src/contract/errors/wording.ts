import type { Failure } from "../output/output-blob.ts";

/** A count with its noun, such as `1 ticker` and `2 tickers`. @param plural where it is not the noun with an s. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}

/** What befell a ticker, in a sentence that names it once: most messages begin with their ticker already. */
export function namedFailure({ ticker, message }: Omit<Failure, "code">): string {
  const after = message.startsWith(ticker) ? message.charAt(ticker.length) : undefined;
  return after === " " || after === ":" ? message : `${ticker}: ${message}`;
}

/**
 * Text for one line of a terminal or a log. Tickers and names of features come from the blobs: whatever in them could
 * steer a terminal or begin a line of its own is shown as `\uXXXX`.
 */
export function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, (character) => character.split("").map(escaped).join(""));
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
