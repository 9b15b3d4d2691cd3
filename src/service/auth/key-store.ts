import { z } from "zod";
import { SCOPES, type Scope } from "../operations.ts";

/** A key as it is shown: never its secret, nor what is stored of that. */
export const apiKeySchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    subject: z.string().describe("Whom operations and blobs made with it belong to."),
    scopes: z.array(z.enum(SCOPES)),
    created_at: z.iso.datetime(),
    revoked_at: z.iso.datetime().nullable(),
    last_used_at: z.iso.datetime().nullable().describe("To within a minute."),
  })
  .meta({ id: "ApiKey" });

export type ApiKey = z.infer<typeof apiKeySchema>;

/** What is needed to check a token that names a key. */
export interface StoredKey {
  readonly hash: string;
  readonly subject: string;
  readonly scopes: readonly Scope[];
}

/** Where API keys are kept. Every method throws MucastError unavailable where the database is away. */
export interface KeyStore {
  /** @returns the key and its token, `mucast_<id>_<secret>`, which is told this once only. */
  create(name: string, scopes: readonly Scope[]): Promise<{ key: ApiKey; token: string }>;
  /** Newest first, revoked ones too. */
  list(): Promise<ApiKey[]>;
  /** Refuses it from now on; harmless when repeated. @returns undefined where there is none. */
  revoke(id: string): Promise<ApiKey | undefined>;
  /** @returns undefined where there is none, or where it is revoked. */
  find(id: string): Promise<StoredKey | undefined>;
  /** Notes that a key was used, at most once a minute. */
  used(id: string): Promise<void>;
}
