import { randomBytes } from "node:crypto";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "../auth/caller.ts";
import { type KeyStore, secretHash } from "../auth/key-store.ts";
import type { Database } from "../database/database.ts";
import { findLink, insertLink, type LinkedReport, redeemLink, restoreLink } from "../store/report-links.ts";

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
const KEY_SUBJECT = /^key:([0-9a-f]{16})$/;

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
    const link = { hash: secretHash(token), caller: subject, operationIds, seconds: LINK_SECONDS };
    const expiresAt = await insertLink(this.#database, link);
    if (expiresAt === undefined)
      throw new MucastError("not_found", "an operation was just removed", { path: "id" });
    return { token, expiresAt };
  }

  /**
   * Looks at a link without using it. @throws MucastError not_found for one that was used, has expired or never existed; so does
   * `take`.
   */
  async find(token: string): Promise<OpenedLink> {
    return this.#opened(await findLink(this.#database, secretHash(token)));
  }

  /** Uses a link. If several requests take it, only one gets it. */
  async take(token: string): Promise<TakenLink> {
    const hash = secretHash(token);
    const link = await redeemLink(this.#database, hash);
    const opened = await this.#opened(link);
    return { ...opened, restore: () => restoreLink(this.#database, hash, link!) };
  }

  /** If the key was revoked after the link was created, the link opens nothing. */
  async #opened(link: LinkedReport | undefined): Promise<OpenedLink> {
    const keyId = KEY_SUBJECT.exec(link?.caller ?? "")?.[1];
    const isRevoked = keyId !== undefined && (await this.#keys.find(keyId)) === undefined;
    if (link === undefined || isRevoked) throw noLink();
    const caller: Caller = { subject: link.caller, scopes: new Set(["read"]) };
    return { caller, operationIds: link.operationIds };
  }
}

/** The same error for every link that opens nothing. */
export function noLink(): MucastError {
  const message =
    "the link was used, has ended or never was: it opens a report once, within a minute; make a new one";
  return new MucastError("not_found", message, { path: "URL" });
}
