import { randomBytes } from "node:crypto";
import type { Selectable } from "kysely";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "../auth/caller.ts";
import { type KeyStore, secretHash } from "../auth/key-store.ts";
import type { Database } from "../database/database.ts";
import type { Statements, Tables } from "../database/tables.ts";

/** A new link. */
export interface CreatedLink {
  /** 256 random bits, base64url. Only this answer contains it. */
  readonly token: string;
  readonly expiresAt: Date;
}

/** The caller of a link, who may read, and the operations whose outputs its report compares; one for the report of an output. */
export interface OpenedLink {
  readonly caller: Caller;
  readonly operationIds: readonly string[];
}

/** A link that is used up. */
export interface TakenLink extends OpenedLink {
  /** Makes it valid again, for a report that could not be sent. */
  restore(): Promise<void>;
}

const LINK_SECONDS = 60;
const TOKEN_BYTES = 32;
/** Maximum number of links per caller; a further link replaces the oldest. */
const LINKS_OF_A_CALLER = 100;
const KEY_SUBJECT = /^key:([0-9a-f]{16})$/;

type LinkRow = Selectable<Tables["report_links"]>;

/**
 * Links with which a browser opens a report without credentials: once, within a minute. The database has only hashes of their tokens,
 * and every service on it opens them.
 */
export class ReportLinks {
  readonly #database: Database;
  readonly #keys: Pick<KeyStore, "find">;

  constructor(database: Database, keys: Pick<KeyStore, "find">) {
    this.#database = database;
    this.#keys = keys;
  }

  /** @param operationIds different operations of the caller. @throws MucastError not_found if one was just removed. */
  async create({ subject }: Pick<Caller, "subject">, operationIds: readonly string[]): Promise<CreatedLink> {
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    const database = this.#database;
    const link = { hash: secretHash(token), caller: subject, ...storedIds(operationIds) };
    const expiresAt = await database.write(async (db) => {
      await db.deleteFrom("report_links").where("expires_at", "<", database.time()).execute();
      if (!(await hasAll(db, subject, operationIds))) return undefined;
      const { expires_at } = await db
        .insertInto("report_links")
        .values({ ...link, expires_at: database.time(LINK_SECONDS) })
        .returning("expires_at")
        .executeTakeFirstOrThrow();
      const newest = db.selectFrom("report_links").select("ordinal").where("caller", "=", subject);
      const [beyond] = await newest.orderBy("ordinal", "desc").offset(LINKS_OF_A_CALLER).limit(1).execute();
      if (beyond)
        await db
          .deleteFrom("report_links")
          .where("caller", "=", subject)
          .where("ordinal", "<=", beyond.ordinal)
          .execute();
      return expires_at;
    });
    if (expiresAt === undefined)
      throw new MucastError("not_found", "an operation was just removed", { path: "id" });
    return { token, expiresAt };
  }

  /**
   * Looks at a link without using it. @throws MucastError not_found for one that was used, has expired or never existed; so does
   * `take`.
   */
  async find(token: string): Promise<OpenedLink> {
    const { db } = this.#database;
    const open = db.selectFrom("report_links").selectAll().where("hash", "=", secretHash(token));
    return this.#opened(await open.where("expires_at", ">", this.#database.time()).executeTakeFirst());
  }

  /** Uses a link. If several requests take it, even on several services, only one gets it. */
  async take(token: string): Promise<TakenLink> {
    const database = this.#database;
    const row = await database.write((db) =>
      db
        .deleteFrom("report_links")
        .where("hash", "=", secretHash(token))
        .where("expires_at", ">", database.time())
        .returningAll()
        .executeTakeFirst(),
    );
    return { ...(await this.#opened(row)), restore: () => this.#restore(row!) };
  }

  /** Until it would have expired, unless an operation was removed. */
  #restore({ hash, caller, expires_at, ...ids }: LinkRow): Promise<void> {
    return this.#database.write(async (db) => {
      const operationIds = idsOf(ids);
      if (!(await hasAll(db, caller, operationIds))) return;
      await db
        .insertInto("report_links")
        .values({ hash, caller, ...storedIds(operationIds), expires_at })
        .execute();
    });
  }

  /** If the key was revoked after the link was created, the link opens nothing. */
  async #opened(row: LinkRow | undefined): Promise<OpenedLink> {
    const keyId = KEY_SUBJECT.exec(row?.caller ?? "")?.[1];
    const isRevoked = keyId !== undefined && (await this.#keys.find(keyId)) === undefined;
    if (row === undefined || isRevoked) throw noLink();
    return { caller: { subject: row.caller, scopes: new Set(["read"]) }, operationIds: idsOf(row) };
  }
}

function storedIds([operation_id, ...further]: readonly string[]) {
  return { operation_id: operation_id!, further_ids: JSON.stringify(further) };
}

function idsOf({ operation_id, further_ids }: Pick<LinkRow, "operation_id" | "further_ids">): string[] {
  return [operation_id, ...further_ids];
}

/** Whether the caller has all operations. */
async function hasAll(db: Statements, caller: string, ids: readonly string[]): Promise<boolean> {
  const found = await db
    .selectFrom("operations")
    .select("id")
    .where("id", "in", ids)
    .where("caller", "=", caller)
    .execute();
  return found.length === ids.length;
}

/** The same error for every link that opens nothing. */
export function noLink(): MucastError {
  const message =
    "the link was used, has ended or never was: it opens a report once, within a minute; make a new one";
  return new MucastError("not_found", message, { path: "URL" });
}
