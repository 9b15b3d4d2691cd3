import { errors, type JWTPayload, type JWTVerifyGetKey, type JWTVerifyOptions, jwtVerify } from "jose";
import { MucastError } from "../../contract/errors/errors.ts";
import { type Authenticate, bearerToken, unauthorized } from "./authenticate.ts";
import type { Scope } from "./caller.ts";
import { type IssuerOptions, issuerKeys } from "./issuer-keys.ts";

type OidcScope = Exclude<Scope, "admin">;

export interface OidcOptions extends IssuerOptions {
  readonly audience: string;
  /** The names of this service's scopes in a token. No token gives `admin`. */
  readonly scopes: Readonly<Record<OidcScope, string>>;
  /** The caller of a `sub` of this issuer. */
  readonly subjectOf: (sub: string) => string;
}

/** Only asymmetric algorithms: the service can check tokens, but must not be able to create them. */
const ALGORITHMS = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];
const CLOCK_SKEW_SECONDS = 30;
const MAX_SUBJECT_LENGTH = 255;

/** Authentication by an access token (JWT) of an OIDC issuer. */
export function oidcAuthenticate(options: OidcOptions): Authenticate {
  const keys = issuerKeys(options);
  const checks: JWTVerifyOptions = {
    issuer: options.issuer,
    audience: options.audience,
    algorithms: ALGORITHMS,
    clockTolerance: CLOCK_SKEW_SECONDS,
    requiredClaims: ["sub", "exp"],
  };
  return async (authorization) => {
    const token = bearerToken(authorization);
    try {
      const { payload, protectedHeader } = await verifyToken(token, keys, checks);
      checkUse(payload, protectedHeader.typ);
      return { subject: options.subjectOf(payload.sub!), scopes: readScopes(payload, options.scopes) };
    } catch (error) {
      if (error instanceof MucastError || !(error instanceof errors.JOSEError)) throw error;
      // jose's messages name claims, not values.
      throw unauthorized(`the token is refused: ${error.message}`, { cause: error });
    }
  };
}

/** Checks the token with the key that it names, or with each key of its kind. */
async function verifyToken(token: string, keys: JWTVerifyGetKey, checks: JWTVerifyOptions) {
  try {
    return await jwtVerify(token, keys, checks);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      try {
        return await jwtVerify(token, key, checks);
      } catch (failure) {
        if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
      }
    }
    throw new errors.JWKSNoMatchingKey();
  }
}

/** Refuses a token for another purpose, of another holder, or whose `sub` a database cannot tell apart from others. */
function checkUse({ sub, cnf }: JWTPayload, typ: unknown): void {
  // By RFC 8725, tokens for another purpose have a type such as `logout+jwt`; `at+jwt` is RFC 9068.
  const isAccessToken =
    typ === undefined || !String(typ).includes("+") || /^(application\/)?at\+jwt$/i.test(String(typ));
  if (!isAccessToken) throw unauthorized("the token is refused: its typ does not name an access token");
  if (cnf !== undefined) {
    throw unauthorized(
      "the token is refused: it is bound to a key of its holder (its claim cnf, as by DPoP or mutual TLS), which this " +
        "service cannot check; ask the issuer for a plain bearer token",
    );
  }
  // jose accepts any JSON. PostgreSQL stores no NUL, and stores all lone surrogates as the same character.
  const isText = typeof sub === "string" && sub !== "" && sub.length <= MAX_SUBJECT_LENGTH;
  if (isText && !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(sub)) return;
  throw unauthorized(
    `the token is refused: its sub is not a text of 1 to ${MAX_SUBJECT_LENGTH} characters without control characters, ` +
      "line separators and lone surrogates",
  );
}

/** Scopes are in the claim `scope` (RFC 9068), `scp` or `roles` (Microsoft Entra), space-separated or as a list. */
function readScopes(claims: JWTPayload, names: OidcOptions["scopes"]): ReadonlySet<Scope> {
  const words = [claims.scope, claims.scp, claims.roles].flatMap((claim) =>
    typeof claim === "string" ? claim.split(" ") : Array.isArray(claim) ? claim : [],
  );
  const scopes = Object.keys(names) as OidcScope[];
  return new Set(scopes.filter((scope) => words.includes(names[scope])));
}
