import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** The variables from which Ray reads its token and its certificates. */
export const CLUSTER_VARIABLES = /^RAY_(AUTH_\w+|TLS_\w+|USE_TLS)$/;

/** Those that name a file. */
const FILES = ["RAY_AUTH_TOKEN_PATH", "RAY_TLS_CA_CERT", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY"];
/** Minimum length in characters; a shorter value may be part of any word. */
const MIN_TOKEN_LENGTH = 8;

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The environment variables that the gateway to a cluster gets in addition to those of every engine. Files have absolute paths, because the
 * gateway runs in its own folder.
 */
export function clusterEnvironment(env: Env): Record<string, string> {
  const kept = Object.entries(env).flatMap(([name, value]) =>
    CLUSTER_VARIABLES.test(name) && value !== undefined
      ? [[name, FILES.includes(name) && value !== "" ? resolve(value) : value]]
      : [],
  );
  return Object.fromEntries(kept);
}

/** Removes the token from a text, wherever a library may have printed it. */
export function tokenRedactor(env: Env): (text: string) => string {
  const file = env.RAY_AUTH_TOKEN_PATH || join(env.HOME ?? homedir(), ".ray", "auth_token");
  let content = "";
  try {
    content = readFileSync(file, "utf8");
  } catch {
    // The gateway cannot read it either, and says so.
  }
  const tokens = [env.RAY_AUTH_TOKEN ?? "", content].map((text) => text.trim());
  const long = tokens.filter(({ length }) => length >= MIN_TOKEN_LENGTH);
  return (text) => long.reduce((shown, token) => shown.replaceAll(token, "<token>"), text);
}
