import { MucastError } from "./errors/errors.ts";
import { isLoopbackName } from "./machine/loopback.ts";

/** A Ray cluster that jobs compute on in place of this machine. */
export interface ClusterEngine {
  readonly url: string;
  readonly insecure: boolean;
}

/** The variables that name a cluster. Its token and certificates are in the variables that Ray reads itself. */
export const ENGINE_VARIABLES = { url: "MUCAST_ENGINE_URL", insecure: "MUCAST_ENGINE_INSECURE" } as const;

const EXAMPLE = "must be ray://<host>:<port>, such as ray://head.example:10001";
const MAX_LENGTH = 300;
const HOST = /^([\w-]{1,63}(\.[\w-]{1,63})*\.?|\[[\da-f:.]+\])$/i;

/** The fault of a cluster's URL; undefined if it is valid. Shows no password. */
export function engineUrlFault(text: string): string | undefined {
  const got = text.includes("@") ? "" : `; got ${JSON.stringify(text.slice(0, MAX_LENGTH))}`;
  const url = text.length <= MAX_LENGTH && URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "ray:") return `${EXAMPLE}${got}`;
  if (`${url.username}${url.password}` !== "") {
    return `${EXAMPLE}, without a user name and a password: the token comes from RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH`;
  }
  if (url.hostname === "") return `${EXAMPLE}, and lacks a host${got}`;
  if (!HOST.test(url.hostname)) return `${EXAMPLE}, and its host is neither a name nor an address${got}`;
  if (url.port === "" || url.port === "0") {
    return `${EXAMPLE}, and lacks the port of the cluster's Ray Client server, which is 10001 by default${got}`;
  }
  const isLonger = !/^\/?$/.test(url.pathname) || `${url.search}${url.hash}` !== "";
  return isLonger ? `${EXAMPLE}, with nothing behind the port${got}` : undefined;
}

/** Why a cluster may not be used without a token; undefined if it may. @param url a valid one. */
export function insecureFault(url: string): string | undefined {
  const { hostname } = new URL(url);
  if (isLoopbackName(hostname)) return undefined;
  return (
    `is for a cluster on this machine alone, such as ray://127.0.0.1:10001: ${hostname} is elsewhere, and a cluster without a ` +
    "token runs the code of all that reach it; start it with RAY_AUTH_MODE=token, and give its token in RAY_AUTH_TOKEN or " +
    "RAY_AUTH_TOKEN_PATH"
  );
}

export function clusterOf(url: string | undefined, insecure: boolean): ClusterEngine | undefined {
  if (url === undefined) return undefined;
  const fault = insecure ? insecureFault(url) : undefined;
  if (fault === undefined) return { url, insecure };
  throw new MucastError("invalid_request", `engine_insecure ${fault}`, { path: "engine_insecure" });
}

export function engineEnv(url: string | undefined): Readonly<Record<string, string>> {
  return url === undefined ? {} : { [ENGINE_VARIABLES.url]: url };
}
