import { createHash } from "node:crypto";
import type { Database } from "../database/database.ts";

/** The first issuer of a database, whose callers have rows without an issuer; if none is recorded, the given one becomes the first. */
export async function firstIssuer(database: Database, issuer: string): Promise<string> {
  await database.write((db) =>
    db
      .insertInto("first_oidc_issuer")
      .values({ issuer })
      .onConflict((conflict) => conflict.doNothing())
      .execute(),
  );
  return (await database.db.selectFrom("first_oidc_issuer").select("issuer").executeTakeFirstOrThrow())
    .issuer;
}

/**
 * The caller of each `sub` of an issuer: `oidc:<sub>` for the first issuer of a database, whose rows name no issuer, and
 * `oidc-<hash of the issuer>:<sub>` for any other. So no two issuers share a caller.
 */
export function subjectsOf(issuer: string, first: string): (sub: string) => string {
  if (issuer === first) return (sub) => `oidc:${sub}`;
  const hash = createHash("sha256").update(issuer).digest("hex").slice(0, 16);
  return (sub) => `oidc-${hash}:${sub}`;
}
