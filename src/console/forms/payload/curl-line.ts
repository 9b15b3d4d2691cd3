/** A request to print as a curl command. */
export interface CurlRequest {
  readonly method: "POST" | "PUT";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether it sends the caller's key: the command names the variable that contains it, never the key. */
  readonly hasKey: boolean;
  /** The text of the body, or the name of the file that contains it. */
  readonly body: string | { readonly file: string };
}

/** A command that sends the same bytes from any POSIX shell. */
export function curlLine({ method, url, headers, hasKey, body }: CurlRequest): string {
  const key = hasKey ? [`-H "Authorization: Bearer $MUCAST_API_KEY"`] : [];
  const others = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  // With --data-raw, a body that starts with @ is not a file name.
  const data =
    typeof body === "string" ? `--data-raw ${quoted(body)}` : `--data-binary ${quoted(`@${body.file}`)}`;
  return [`curl -sS -X ${method} ${quoted(url)}`, ...key, ...others, data].join(" \\\n  ");
}

/** One word of a POSIX shell. Between single quotes only the quote itself is special; bash expands no history there, either. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
