import { MucastError } from "../contract/errors.ts";
import type { HttpApp } from "./http/http-app.ts";

/** Begins to listen. @returns `http://host:port`. @throws MucastError unavailable where that address cannot be had. */
export async function listening(
  http: HttpApp,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<string> {
  try {
    return await http.listen({ host: host.replace(/^\[(.*)\]$/, "$1"), port });
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === undefined) throw cause;
    const message = `cannot listen on ${host}:${port} (${code}): give another --host or --port`;
    throw new MucastError("unavailable", message, { path: "--port", value: port }, { cause });
  }
}
