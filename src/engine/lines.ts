/** Maximum length of a line. */
interface LineLimit {
  /** In characters. */
  readonly longest: number;
  /** Called once for each longer line, which is dropped. Without it, `take` gets such a line in pieces. */
  readonly onLonger?: () => void;
}

/**
 * Calls `take` with every complete line; drops what follows the last line feed. It looks at each character once, however many pieces a line
 * comes in, and buffers at most one line of the maximum length.
 */
export function onLines(
  stream: NodeJS.ReadableStream,
  take: (line: string) => void,
  { longest, onLonger }: LineLimit,
): void {
  /** The current incomplete line, in pieces as received. */
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
