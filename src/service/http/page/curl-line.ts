/** A request as the command line of curl, for a POSIX shell. */
export interface CurlRequest {
  readonly method: string;
  readonly url: string;
  /** Sent as it is, as JSON. */
  readonly body?: string;
  /** A file to upload. */
  readonly file?: string;
  readonly hasCredentials?: boolean;
  /** Shows events as they come. */
  readonly isStream?: boolean;
}

export function curlLine({ method, url, body, file, hasCredentials, isStream }: CurlRequest): string {
  const words = ["curl", isStream ? "-sN" : "-s"];
  if (file !== undefined) words.push("-T", file);
  else if (method === "POST" && body === undefined) words.push("-X", "POST");
  // The variable is the shell's to fill in, so its quotes are double.
  if (hasCredentials) words.push("-H", '"Authorization: Bearer $MUCAST_KEY"');
  words.push(url.includes("$") ? `"${url}"` : quoted(url));
  if (body === undefined) return words.join(" ");
  return `${words.join(" ")} \\\n  -H 'Content-Type: application/json' \\\n  -d ${quoted(body)}`;
}

function quoted(text: string): string {
  return /^[\w:/.@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
