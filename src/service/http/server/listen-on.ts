import { MucastError } from "../../../contract/errors/errors.ts";
import { causeOf, codeOf } from "../../../contract/errors/system-error.ts";
import type { HttpApp } from "./http-app.ts";

/**
 * Connections that the kernel keeps until the event loop accepts them. Beyond these it drops the handshake, and a client tries again
 * after 1, 3 and 7 s. The kernel's own limit, `net.core.somaxconn`, is 4096 by default.
 */
const BACKLOG = 4096;

/** Starts to listen. @returns `http://host:port`. @throws MucastError cannot_listen if the address cannot be used. */
export async function listenOn(
  http: HttpApp,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<string> {
  try {
    return await http.listen({ host: host.replace(/^\[(.*)\]$/, "$1"), port, backlog: BACKLOG });
  } catch (cause) {
    if (codeOf(cause) === undefined) throw cause;
    const message = `cannot listen on ${host}:${port}: ${causeOf(cause)}`;
    throw new MucastError("cannot_listen", message, { path: "--port", value: port }, { cause });
  }
}
