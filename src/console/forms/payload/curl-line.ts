/** A request as a line of curl states it. */
export interface ShownRequest {
  readonly method: "POST" | "PUT";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the caller's key goes with it: the line names the variable that holds it, never the key. */
  readonly hasKey: boolean;
  /** Its text, or the name of the file that has it. */
  readonly body: string | { readonly file: string };
}

/** The command that sends the same bytes from any POSIX shell. */
export function curlLine({ method, url, headers, hasKey, body }: ShownRequest): string {
  const key = hasKey ? [`-H "Authorization: Bearer $MUCAST_API_KEY"`] : [];
  const others = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  // --data-raw: a body that begins with @ is no file's name.
  const data =
    typeof body === "string" ? `--data-raw ${quoted(body)}` : `--data-binary ${quoted(`@${body.file}`)}`;
  return [`curl -sS -X ${method} ${quoted(url)}`, ...key, ...others, data].join(" \\\n  ");
}

/**
 * One word of a POSIX shell. Nothing is special between single quotes but the quote itself; bash expands no history
 * there, either.
 */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
