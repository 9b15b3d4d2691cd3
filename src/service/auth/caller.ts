import { MucastError } from "../../contract/errors/errors.ts";

/** The caller of a request. Operations, blobs and idempotency keys belong to one caller, and no other caller sees them. */
export interface Caller {
  /** `local` without authentication, `key:<id>` for an API key, and for a token what `subjectsOf` makes of its issuer and `sub`. */
  readonly subject: string;
  readonly scopes: ReadonlySet<Scope>;
}

/** `read` and `write` for operations and blobs; `admin` for keys. */
export const SCOPES = ["read", "write", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

export function requireScope({ scopes }: Caller, scope: Scope, what: string): void {
  if (scopes.has(scope)) return;
  const message = `${what} needs the scope ${scope}; the credentials have: ${[...scopes].join(", ") || "none"}`;
  throw new MucastError("forbidden", message, { scope });
}
