import { createHash, randomBytes } from "node:crypto";
import type { OperationView } from "../../contract/api/operation-view.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { MUCAST_BUILD } from "../../contract/version.ts";
import type { Caller } from "../auth/caller.ts";
import { type KeyStore, secretHash } from "../auth/key-store.ts";
import type { Blobs } from "../blobs/blobs.ts";
import type { Database } from "../database/database.ts";
import { findOutput, outputGone } from "../forecast/forecasts.ts";

type ReportedOutputs = Awaited<ReturnType<Reports["find"]>>;

export type DrawPage = (outputs: readonly StoredOutput[], signal: AbortSignal) => Promise<Buffer>;

interface StoredOutput {
  readonly space: string;
  readonly name: string;
  readonly etag: string;
}

interface ReportsParts {
  readonly blobs: Pick<Blobs, "find">;
  readonly draw: DrawPage;
  readonly cacheBytes: number;
}

export class Reports {
  readonly #parts: ReportsParts;
  readonly #pages = new Map<string, Buffer>();
  #pageBytes = 0;

  constructor(parts: ReportsParts) {
    this.#parts = parts;
  }

  /** @returns the outputs, and the ETag of the page: the same outputs and the same build of mucast give the same bytes. */
  async find(caller: Caller, operations: readonly OperationView[]) {
    const outputs: StoredOutput[] = [];
    for (const operation of operations) {
      const { space, name, etag } = await findOutput(this.#parts.blobs, caller, operation, "report");
      outputs.push({ space, name, etag });
    }
    const places = outputs.flatMap(({ space, name, etag }) => [space, name, etag]);
    const digest = createHash("sha256").update(JSON.stringify([MUCAST_BUILD, ...places]));
    return { outputs, etag: `"${digest.digest("base64url")}"` };
  }

  async page({ outputs, etag }: ReportedOutputs, signal: AbortSignal): Promise<Buffer> {
    const { draw, cacheBytes } = this.#parts;
    const known = this.#pages.get(etag);
    const page =
      known ??
      (await draw(outputs, signal).catch((error: unknown) => {
        const isGone = error instanceof MucastError && error.code === "blob_not_found";
        throw isGone ? outputGone(outputs.map(({ name }) => name)) : error;
      }));
    if (page.length > cacheBytes) return page;
    if (!this.#pages.delete(etag)) this.#pageBytes += page.length;
    this.#pages.set(etag, page);
    for (const [oldest, { length }] of this.#pages) {
      if (this.#pageBytes <= cacheBytes) break;
      this.#pages.delete(oldest);
      this.#pageBytes -= length;
    }
    return page;
  }
}

const LINK_SECONDS = 60;
/** Much longer than a link may be opened and its report takes to be drawn. */
const KEPT_SECONDS = 3_600;
const TOKEN_BYTES = 32;
const KEY_SUBJECT = /^key:([0-9a-f]{16})$/;

/** Links that open a report without credentials: once, within a minute. The database has only hashes of their tokens. */
export class ReportLinks {
  readonly #database: Database;
  readonly #keys: Pick<KeyStore, "find">;

  constructor(database: Database, keys: Pick<KeyStore, "find">) {
    this.#database = database;
    this.#keys = keys;
  }

  async create({ subject: caller }: Pick<Caller, "subject">, operationIds: readonly string[]) {
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    const database = this.#database;
    const link = {
      ...{ hash: secretHash(token), caller, expires_at: database.time(LINK_SECONDS) },
      ...{ operation_id: operationIds[0]!, further_ids: JSON.stringify(operationIds.slice(1)) },
    };
    const { expires_at: expiresAt } = await database.write(async (db) => {
      await db.deleteFrom("report_links").where("expires_at", "<", database.time(-KEPT_SECONDS)).execute();
      const links = db.insertInto("report_links").values(link);
      return links.returning("expires_at").executeTakeFirstOrThrow();
    });
    return { token, expiresAt };
  }

  /** @returns the operations whose outputs the report compares, or one, and their caller, who may read. */
  async find(token: string) {
    const links = this.#database.db.selectFrom("report_links").selectAll();
    const open = links.where("hash", "=", secretHash(token)).where("expires_at", ">", this.#database.time());
    const { caller, operation_id, further_ids } = (await open.executeTakeFirst()) ?? throwNoLink();
    const keyId = KEY_SUBJECT.exec(caller)?.[1];
    if (keyId !== undefined && (await this.#keys.find(keyId)) === undefined) throwNoLink();
    const reader: Caller = { subject: caller, scopes: new Set(["read"]) };
    return { caller: reader, operationIds: [operation_id, ...further_ids] };
  }

  /** Uses a link, once its report is drawn. Of several requests, even to several services, one succeeds; others get not_found. */
  async use(token: string): Promise<void> {
    const used = await this.#database.write((db) => {
      const links = db.deleteFrom("report_links").where("hash", "=", secretHash(token));
      return links.returning("hash").executeTakeFirst();
    });
    if (used === undefined) throwNoLink();
  }
}

function throwNoLink(): never {
  const message =
    "the link was used, has ended or never was: it opens a report once, within a minute; make a new one";
  throw new MucastError("not_found", message, { path: "URL" });
}
