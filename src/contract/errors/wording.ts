/** A count with its noun, such as `1 ticker` and `2 tickers`. @param plural if the noun takes no s. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}

/**
 * Text for one line of a terminal or a log. Tickers and feature names come from blobs, so a character in them that could
 * steer a terminal or begin a new line, also for a program that reads U+2028 as one, is shown as `\uXXXX`.
 */
export function printable(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => character.split("").map(escaped).join(""));
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
