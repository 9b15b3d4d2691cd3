import { MucastError } from "../contract/errors/errors.ts";
import { causeOf, codeOf } from "../contract/errors/system-error.ts";
import type { HttpApp } from "./http/server/http-app.ts";

/** Begins to listen. @returns `http://host:port`. @throws MucastError cannot_listen where that address cannot be had. */
export async function listening(
  http: HttpApp,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<string> {
  try {
    return await http.listen({ host: host.replace(/^\[(.*)\]$/, "$1"), port });
  } catch (cause) {
    if (codeOf(cause) === undefined) throw cause;
    const message = `cannot listen on ${host}:${port}: ${causeOf(cause)}`;
    throw new MucastError("cannot_listen", message, { path: "--port", value: port }, { cause });
  }
}
