import type { Fault } from "./errors/errors.ts";

/** A Ray cluster that jobs compute on in place of this machine. */
export interface ClusterEngine {
  /** `ray://host:port` of its Ray Client server. */
  readonly url: string;
  /** Whether it may be used without a token, which only one on this machine may. */
  readonly insecure: boolean;
}

/** What is asked for, and how an error calls both. */
interface AskedEngine {
  readonly url: string;
  readonly insecure: boolean;
  readonly names: { readonly url: string; readonly insecure: string };
}

const EXAMPLE = "ray://<host>:<port>, such as ray://head.example:10001";
const LONGEST = 300;

/** The cluster that a URL names. @returns faults where it names none, or one that may not be used without a token. */
export function clusterEngine({ url: text, insecure, names }: AskedEngine): ClusterEngine | readonly Fault[] {
  const url = text.length <= LONGEST && URL.canParse(text) ? new URL(text) : undefined;
  const faulty = (what: string): readonly Fault[] => [
    { path: names.url, message: `must be ${EXAMPLE}${what}${shown(text)}` },
  ];
  if (url?.protocol !== "ray:") return faulty("");
  if (`${url.username}${url.password}` !== "")
    return faulty(
      ", without a user name or a password; a token comes from RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH",
    );
  if (!HOST.test(url.hostname)) return faulty(", and needs a host");
  if (url.port === "" || url.port === "0")
    return faulty(", and needs the port of its Ray Client server, mostly 10001");
  if (!/^\/?$/.test(url.pathname) || `${url.search}${url.hash}` !== "")
    return faulty(", with nothing behind the port");
  if (insecure && !isLoopback(url.hostname)) {
    const message =
      `goes with a cluster on this machine alone, as 127.0.0.1, and ${url.hostname} is another one, whose network could run ` +
      "anything on it: start the cluster with RAY_AUTH_MODE=token, and give its token in RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH";
    return [{ path: names.insecure, message }];
  }
  return { url: `ray://${url.hostname.toLowerCase()}:${url.port}`, insecure };
}

const HOST = /^([\w.-]+|\[[\da-f:.]+\])$/i;

/** By its name: what another name resolves to may change. */
function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i.test(host);
}

/** The value, unless it may hold a password. */
function shown(text: string): string {
  return text.includes("@") ? "" : `; got ${JSON.stringify(text.slice(0, LONGEST))}`;
}
