import { createHash } from "node:crypto";
import { MucastError } from "../../contract/errors/errors.ts";
import { isLoopbackName } from "../../contract/machine/loopback.ts";
import type { Settings } from "../../contract/settings.ts";
import type { Database } from "../database/database.ts";
import type { Log } from "../telemetry/log.ts";
import { type Caller, SCOPES } from "./caller.ts";
import { isSecretOf, type KeyStore, parseApiKey, secretHash } from "./key-store.ts";

export type Authenticate = (authorization: string | undefined) => Promise<Caller>;

/** The subject of every caller without authentication, and of the commands on the service's own machine. */
export const LOCAL_SUBJECT = "local";

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i;
const MAX_TOKEN_LENGTH = 8_192;

export function tokenIn(authorization: string | undefined): string | undefined {
  const token = BEARER.exec(authorization ?? "")?.[1];
  return token !== undefined && token.length <= MAX_TOKEN_LENGTH ? token : undefined;
}

export function bearerToken(authorization: string | undefined): string {
  if (authorization === undefined) throw unauthorized("the request has no Authorization header");
  const token = tokenIn(authorization);
  if (token === undefined) throw unauthorized("the Authorization header is not `Bearer` and a token");
  return token;
}

export function unauthorized(message: string, options?: ErrorOptions): MucastError {
  return new MucastError("unauthorized", message, { path: "Authorization" }, options);
}

interface AuthenticateParts {
  readonly database: Database;
  readonly keys: KeyStore;
  readonly log: Log;
  /** In service.json of this process, which only the operator can read. */
  readonly localToken: string;
}

const OPERATOR: Caller = { subject: LOCAL_SUBJECT, scopes: new Set(SCOPES) };
const ANYONE: Caller = { subject: LOCAL_SUBJECT, scopes: new Set(["read", "write"]) };

/** Builds the authentication of settings that `checkAuthAllowed` allows. It accepts the operator's token in every mode. */
export async function buildAuthenticate(settings: Settings, parts: AuthenticateParts): Promise<Authenticate> {
  let authenticate: Authenticate = async () => ANYONE;
  if (settings.auth === "keys") authenticate = keyAuthenticate(parts.keys);
  if (settings.auth === "oidc") authenticate = await openOidc(settings, parts);
  const hash = secretHash(parts.localToken);
  return async (authorization) => {
    const token = tokenIn(authorization);
    return token !== undefined && isSecretOf(hash, token) ? OPERATOR : authenticate(authorization);
  };
}

async function openOidc(settings: Settings, { database, log }: AuthenticateParts): Promise<Authenticate> {
  // The callers of the issuer keep the identities of its former URL.
  const issuer = settings.oidc_former_issuer ?? settings.oidc_issuer!;
  const first = await firstIssuer(database, issuer);
  if (issuer !== first) {
    const message =
      "the callers of this OIDC issuer do not see the operations and blobs of the first one's; " +
      "where it is the same issuer with a new URL, set oidc_former_issuer to the first one";
    log.warn({ issuer, first_issuer: first }, message);
  }
  // Only this mode loads jose.
  const { oidcAuthenticate } = await import("./oidc-authenticate.ts");
  return oidcAuthenticate(settings, subjectsOf(issuer, first), log);
}

/** Refuses settings with which any caller on the network could use the service. */
export function checkAuthAllowed(settings: Settings): void {
  const { auth, host } = settings;
  const refuse = (path: string, value: unknown, message: string) => {
    throw new MucastError("invalid_request", message, { path, value });
  };
  if (auth === "none" && !isLoopbackName(host)) {
    const message =
      `auth is "none" and host is "${host}", which others can reach: set auth to "keys" ` +
      "(`mucast keys create` makes one) or to oidc, or listen on 127.0.0.1";
    refuse("auth", auth, message);
  }
  if (auth !== "oidc") return;
  for (const name of ["oidc_issuer", "oidc_audience"] as const)
    if (!settings[name]) refuse(name, settings[name], `auth is "oidc" and ${name} is missing`);
  for (const name of ["oidc_issuer", "oidc_jwks_url"] as const) {
    const { protocol, hostname } = new URL(settings[name] ?? "https://none");
    if (protocol === "https:" || isLoopbackName(hostname)) continue;
    const message = `${name} must be https: the keys at that address decide which callers have access`;
    refuse(name, settings[name], message);
  }
}

/** It reads the key at every request, so a revoked key is refused at once. */
export function keyAuthenticate(keys: KeyStore): Authenticate {
  return async (authorization): Promise<Caller> => {
    const parts = parseApiKey(bearerToken(authorization));
    if (parts === undefined) throw unauthorized("the token is not a key of this service");
    const stored = await keys.find(parts.id);
    if (stored === undefined || !isSecretOf(stored.hash, parts.secret))
      throw unauthorized("the key is unknown, wrong or revoked");
    if (stored.isUnrecorded) await keys.recordUse(parts.id);
    return { subject: stored.subject, scopes: new Set(stored.scopes) };
  };
}

/** The first issuer of a database, whose callers have rows without an issuer; if none is recorded, the given one becomes the first. */
export async function firstIssuer(database: Database, issuer: string): Promise<string> {
  await database.write((db) =>
    db
      .insertInto("first_oidc_issuer")
      .values({ issuer })
      .onConflict((conflict) => conflict.doNothing())
      .execute(),
  );
  const first = database.db.selectFrom("first_oidc_issuer").select("issuer");
  return (await first.executeTakeFirstOrThrow()).issuer;
}

/** `oidc:<sub>` for the first issuer of a database, whose rows name no issuer, and `oidc-<hash of the issuer>:<sub>` for any other. */
export function subjectsOf(issuer: string, first: string): (sub: string) => string {
  if (issuer === first) return (sub) => `oidc:${sub}`;
  const hash = createHash("sha256").update(issuer).digest("hex").slice(0, 16);
  return (sub) => `oidc-${hash}:${sub}`;
}
