/** A reader who takes no further piece of 64 KiB, or event, for so long has gone, or holds what it took for nothing. */
export const STALL_MILLISECONDS = 60_000;

/**
 * Pieces as they are asked for. `onStall` is called where a reader does not ask for the next one in time; what it does
 * ends the reading.
 */
export async function* paced<T>(
  pieces: AsyncIterable<T>,
  milliseconds: number,
  onStall: () => void,
): AsyncGenerator<T, void> {
  for await (const piece of pieces) {
    const timer = setTimeout(onStall, milliseconds);
    try {
      yield piece;
    } finally {
      clearTimeout(timer);
    }
  }
}
