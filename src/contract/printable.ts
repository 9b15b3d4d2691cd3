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
