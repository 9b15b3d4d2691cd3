/** A count with its noun, such as `1 ticker` and `2 tickers`. @param plural for nouns that do not just add an s. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}

/**
 * Text for one line of a terminal or a log: a character that could control a terminal or start a new line is written as `\uXXXX`, because
 * tickers and feature names come from blobs.
 */
export function printable(text: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => character.split("").map(escaped).join(""));
}
