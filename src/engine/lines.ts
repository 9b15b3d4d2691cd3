/** How long lines may be. */
interface LineLimit {
  /** Characters. */
  readonly longest: number;
  /** Called once for each longer line, which is dropped; without it, `take` gets such a line in pieces. */
  readonly onLonger?: () => void;
}

/**
 * Calls `take` with every whole line; what follows the last line feed is dropped. Each character is looked at once,
 * in however many pieces its line comes, and no more than one line of the longest length waits in memory.
 */
export function onLines(
  stream: NodeJS.ReadableStream,
  take: (line: string) => void,
  { longest, onLonger }: LineLimit,
): void {
  /** The line that has not ended, in the pieces in which it came. */
  let pieces: string[] = [];
  let length = 0;
  let isDropped = false;

  const add = (piece: string) => {
    if (isDropped) return;
    pieces.push(piece);
    length += piece.length;
    if (length <= longest) return;
    if (onLonger === undefined) take(pieces.join(""));
    else {
      isDropped = true;
      onLonger();
    }
    pieces = [];
    length = 0;
  };
  const end = (piece: string) => {
    const isTaken = !isDropped && length + piece.length <= longest;
    if (isTaken) take(length === 0 ? piece : `${pieces.join("")}${piece}`);
    else add(piece);
    pieces = [];
    length = 0;
    isDropped = false;
  };

  stream.setEncoding("utf8");
  stream.on("data", (text: string) => {
    let start = 0;
    for (let feed = text.indexOf("\n"); feed >= 0; feed = text.indexOf("\n", start)) {
      end(text.slice(start, feed));
      start = feed + 1;
    }
    if (start < text.length) add(text.slice(start));
  });
}
