import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Selectable } from "kysely";
import { z } from "zod";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Database } from "../database/database.ts";
import type { Tables } from "../database/tables.ts";
import type { Log } from "../telemetry/log.ts";
import { SCOPES, type Scope } from "./caller.ts";

/** Without its secret and its hash. */
export const apiKeySchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    subject: z.string().describe("The caller that owns the operations and blobs created with the key."),
    scopes: z.array(z.enum(SCOPES)),
    created_at: z.iso.datetime(),
    revoked_at: z.iso.datetime().nullable(),
    last_used_at: z.iso.datetime().nullable().describe("To within a minute."),
  })
  .meta({ id: "ApiKey" });

export type ApiKey = z.infer<typeof apiKeySchema>;

export const newKeySchema = z.strictObject({
  name: z.string().trim().min(1).max(100),
  scopes: z.array(z.enum(SCOPES)).min(1).default(["read", "write"]),
});

/** Of less than 2 KiB each, so that a page fits into an answer. */
export const MAX_KEYS_OF_PAGE = 500;

const COLUMNS = ["id", "name", "subject", "scopes", "created_at", "revoked_at", "last_used_at"] as const;

export class KeyStore {
  readonly #database: Database;
  readonly #log: Pick<Log, "warn"> | undefined;
  #storesUses = true;

  constructor(database: Database, log?: Pick<Log, "warn">) {
    this.#database = database;
    this.#log = log;
  }

  /** No other call returns the token, `mucast_<id>_<secret>`. */
  async create(name: string, scopes: readonly Scope[]) {
    const { id, secret, token } = newApiKey();
    const row = await this.#database.write((db) =>
      db
        .insertInto("api_keys")
        .values({ id, name, hash: secretHash(secret), subject: `key:${id}`, scopes: JSON.stringify(scopes) })
        .returning(COLUMNS)
        .executeTakeFirstOrThrow(),
    );
    return { key: apiKeyOf(row), token };
  }

  async list(): Promise<ApiKey[]> {
    return (await this.#newestFirst().execute()).map(apiKeyOf);
  }

  async page(after: string | undefined) {
    let query = this.#newestFirst().limit(MAX_KEYS_OF_PAGE + 1);
    if (after !== undefined) {
      const created = this.#database.db.selectFrom("api_keys").select("created_at").where("id", "=", after);
      query = query.where(({ eb, or, and }) =>
        or([eb("created_at", "<", created), and([eb("created_at", "=", created), eb("id", ">", after)])]),
      );
    }
    const found = (await query.execute()).map(apiKeyOf);
    const keys = found.slice(0, MAX_KEYS_OF_PAGE);
    return { keys, next_cursor: found.length > keys.length ? keys.at(-1)!.id : null };
  }

  #newestFirst() {
    return this.#database.db
      .selectFrom("api_keys")
      .select(COLUMNS)
      .orderBy("created_at", "desc")
      .orderBy("id");
  }

  /** Revokes a key. A repeated call changes nothing. @returns undefined for an unknown key. */
  async revoke(id: string): Promise<ApiKey | undefined> {
    const row = await this.#database.write((db) =>
      db
        .updateTable("api_keys")
        .set(({ fn }) => ({ revoked_at: fn.coalesce("revoked_at", this.#database.time()) }))
        .where("id", "=", id)
        .returning(COLUMNS)
        .executeTakeFirst(),
    );
    return row && apiKeyOf(row);
  }

  /** @returns undefined for an unknown or revoked key. `isUnrecorded`: no use was stored in the last minute. */
  async find(id: string) {
    const minuteAgo = this.#database.time(-60);
    const row = await this.#database.db
      .selectFrom("api_keys")
      .select(["hash", "subject", "scopes"])
      .select((eb) =>
        eb.or([eb("last_used_at", "is", null), eb("last_used_at", "<", minuteAgo)]).as("isUnrecorded"),
      )
      .where("id", "=", id)
      .where("revoked_at", "is", null)
      .executeTakeFirst();
    return row && { ...row, scopes: row.scopes as Scope[] };
  }

  /** Stores that a key was used now. A database that cannot be written to, as on a full disk, fails no request. */
  async recordUse(id: string): Promise<void> {
    const last_used_at = this.#database.time();
    try {
      await this.#database.write((db) =>
        db.updateTable("api_keys").set({ last_used_at }).where("id", "=", id).execute(),
      );
      this.#storesUses = true;
    } catch (error) {
      if (!(error instanceof MucastError && error.code === "unavailable")) throw error;
      if (this.#storesUses) this.#log?.warn({ err: error }, "the last use of an API key could not be stored");
      this.#storesUses = false;
    }
  }
}

function apiKeyOf(row: Pick<Selectable<Tables["api_keys"]>, (typeof COLUMNS)[number]>): ApiKey {
  return {
    ...row,
    scopes: row.scopes as Scope[],
    created_at: row.created_at.toISOString(),
    revoked_at: row.revoked_at?.toISOString() ?? null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
  };
}

const API_KEY = /^mucast_(?<id>[0-9a-f]{16})_(?<secret>[A-Za-z0-9_-]{43})$/;

export function newApiKey() {
  const id = randomBytes(8).toString("hex");
  const secret = randomBytes(32).toString("base64url");
  return { id, secret, token: `mucast_${id}_${secret}` };
}

export function parseApiKey(token: string) {
  return API_KEY.exec(token)?.groups as { readonly id: string; readonly secret: string } | undefined;
}

/** The stored form of a secret. A long random secret needs no salt. */
export function secretHash(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** Compares in constant time. */
export function isSecretOf(hash: string, secret: string): boolean {
  return timingSafeEqual(Buffer.from(secretHash(secret)), Buffer.from(hash.padEnd(64).slice(0, 64)));
}
