/**
 * Calls `take` with every whole line; what follows the last line feed is dropped.
 * @param longest characters after which a line is handed on in pieces; without it, lines may be of any length.
 */
export function onLines(
  stream: NodeJS.ReadableStream,
  take: (line: string) => void,
  longest = Number.POSITIVE_INFINITY,
): void {
  let unfinished = "";
  stream.setEncoding("utf8");
  stream.on("data", (text: string) => {
    const lines = (unfinished + text).split("\n");
    unfinished = lines.pop()!;
    for (const line of lines) take(line);
    if (unfinished.length <= longest) return;
    take(unfinished);
    unfinished = "";
  });
}
