import { isIPv4 } from "node:net";

/** Whether a host name or an address (IPv6 with or without brackets) always means this machine. Does not ask DNS. */
export function isLoopbackName(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return name === "localhost" || name === "::1" || (isIPv4(name) && name.startsWith("127."));
}
