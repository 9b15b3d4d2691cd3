interface CurlRequest {
  readonly method: string;
  /** A variable of the shell in it, such as `$ID`, is expanded. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether it sends the caller's key: the command names the variable that contains it, never the key. */
  readonly hasKey?: boolean;
  /** Its text, the file that contains it, a URL whose content is uploaded and that needs no key, or the files of a form by their part. */
  readonly body?:
    | string
    | { readonly file: string }
    | { readonly from: string }
    | { readonly form: Readonly<Record<string, string>> };
  readonly isStream?: boolean;
}

/** A command that sends the same bytes from any POSIX shell. */
export function curlLine({ method, url, headers = {}, hasKey, body, isStream }: CurlRequest): string {
  const words = ["curl", isStream ? "-sSN" : "-sS"];
  let impliedMethod = body === undefined ? "GET" : "POST";
  if (typeof body === "object" && "from" in body) {
    words.unshift("curl", "-sS", quoted(body.from), "|");
    words.push("-T", "-");
    impliedMethod = "PUT";
  } else if (typeof body === "object" && "form" in body) {
    // curl ends an unquoted name at a comma or a semicolon.
    for (const [part, file] of Object.entries(body.form))
      words.push(
        "-F",
        quoted(`${part}=@${/[;,"]/.test(file) ? `"${file.replaceAll(/["\\]/g, "\\$&")}"` : file}`),
      );
  } else if (typeof body === "object") {
    words.push("--data-binary", quoted(`@${body.file}`));
  }
  if (method !== impliedMethod) words.push("-X", method);
  if (hasKey) words.push("-H", '"Authorization: Bearer $MUCAST_API_KEY"');
  words.push(/^[\w:/.@%+=?&$-]*\$[\w:/.@%+=?&$-]*$/.test(url) ? `"${url}"` : quoted(url));
  const others = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  // With --data-raw, a body that starts with @ is not a file name.
  const data = typeof body === "string" ? [`--data-raw ${quoted(body)}`] : [];
  return [words.join(" "), ...others, ...data].join(" \\\n  ");
}

/** One word of a POSIX shell. Between single quotes only the quote itself is special; bash expands no history there, either. */
export function quoted(text: string): string {
  return /^[\w:/.@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
