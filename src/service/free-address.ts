import { once } from "node:events";
import { createServer } from "node:net";
import { MucastError } from "../contract/errors/errors.ts";
import { causeOf, codeOf } from "../contract/errors/system-error.ts";

/** Where a service listens, as in its settings. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** The host without the brackets of an IPv6 address. */
export function hostOf({ host }: ListenAddress): string {
  return host.replace(/^\[(.*)\]$/, "$1");
}

/** Whether that is every address of the machine, however it is written: 0.0.0.0, 0, [::] or ::0. */
export function isEveryAddress(address: ListenAddress): boolean {
  return /^(0\.0\.0\.0|[0:]+)$/.test(hostOf(address));
}

/**
 * Listens for a moment, so that a new service on a taken port makes no data folder first.
 * @throws MucastError cannot_listen.
 */
export async function checkFree(address: ListenAddress): Promise<void> {
  const server = createServer();
  try {
    server.listen({ host: hostOf(address), port: address.port });
    await once(server, "listening");
  } catch (cause) {
    throw cannotListen(address, cause);
  }
  server.close();
  await once(server, "close");
}

/** The error of an address that cannot be used; a cause without a code is a defect and stays as it is. */
export function cannotListen({ host, port }: ListenAddress, cause: unknown): unknown {
  if (codeOf(cause) === undefined) return cause;
  const message = `cannot listen on ${host}:${port}: ${causeOf(cause)}`;
  return new MucastError("cannot_listen", message, { path: "--port", value: port }, { cause });
}
