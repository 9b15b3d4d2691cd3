import { closeSync, openSync, readSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** The variables from which Ray reads its token and its certificates. */
export const CLUSTER_VARIABLES = /^RAY_(AUTH_\w+|TLS_\w+|USE_TLS)$/;

/** Those that name a file. */
const FILES = ["RAY_AUTH_TOKEN_PATH", "RAY_TLS_CA_CERT", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY"];
/** Minimum length in characters; a shorter value may be part of any word. */
const TOKEN_LENGTH = { least: 8, most: 16_384 };

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
  const given = tokensOf(env).map((text) => text?.trim() ?? "");
  const tokens = given.filter(({ length }) => length >= TOKEN_LENGTH.least);
  return (text) => tokens.reduce((shown, token) => shown.replaceAll(token, "<token>"), text);
}

/** The contents of each place where Ray looks for its token. */
function tokensOf(env: Env): (string | undefined)[] {
  const files = [env.RAY_AUTH_TOKEN_PATH, join(env.HOME ?? homedir(), ".ray", "auth_token")];
  return [env.RAY_AUTH_TOKEN, ...files.map((file) => (file ? contentOf(file) : undefined))];
}

/** Undefined if the gateway will not read it either. */
function contentOf(path: string): string | undefined {
  try {
    if (!statSync(path).isFile()) return undefined; // A pipe would block this process.
    const file = openSync(path, "r");
    try {
      const bytes = Buffer.alloc(TOKEN_LENGTH.most);
      return bytes.toString("utf8", 0, readSync(file, bytes));
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
}
