/** A count with its noun, such as `1 ticker` and `2 tickers`. @param plural where it is not the noun with an s. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}
