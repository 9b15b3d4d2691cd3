/** A request as the command line of curl, for a POSIX shell. */
export interface CurlRequest {
  readonly method: string;
  readonly url: string;
  /** Sent as it is, as JSON. */
  readonly body?: string;
  /** Uploads what this URL, open to anyone, answers. */
  readonly from?: string;
  /** Waits for the end of a job up to so many seconds. */
  readonly wait?: number;
  readonly hasCredentials?: boolean;
  /** Shows events as they come. */
  readonly isStream?: boolean;
}

export function curlLine(request: CurlRequest): string {
  const { method, url, body, from, wait, hasCredentials, isStream } = request;
  const words = ["curl", isStream ? "-sN" : "-s"];
  if (from !== undefined) words.unshift("curl", "-s", quoted(from), "|");
  if (from !== undefined) words.push("-T", "-");
  else if (method === "POST" && body === undefined) words.push("-X", "POST");
  // The variable is the shell's to fill in, so its quotes are double.
  if (hasCredentials) words.push("-H", '"Authorization: Bearer $MUCAST_KEY"');
  if (wait !== undefined) words.push("-H", `'Prefer: wait=${wait}'`);
  words.push(url.includes("$") ? `"${url}"` : quoted(url));
  if (body === undefined) return words.join(" ");
  return `${words.join(" ")} \\\n  -H 'Content-Type: application/json' \\\n  -d ${quoted(body)}`;
}

function quoted(text: string): string {
  return /^[\w:/.@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
