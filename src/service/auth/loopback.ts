import { isIPv4 } from "node:net";

/** Whether a host name or address (an IPv6 one with or without brackets) is this machine, whatever a DNS says. */
export function isLoopbackName(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return name === "localhost" || name === "::1" || (isIPv4(name) && name.startsWith("127."));
}
