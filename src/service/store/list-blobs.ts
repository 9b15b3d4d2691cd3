import type { BlobContents, BlobKind } from "../../contract/api/blob-page.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Queryable } from "../database/database.ts";
import type { StorageKey } from "./blob-records.ts";

/** A recorded blob as a list shows it. */
export interface ListedBlob extends StorageKey {
  readonly kind: BlobKind;
  /** Null if unknown. */
  readonly bytes: number | null;
  readonly createdAt: Date;
  /** Null if no preparation has stored it. */
  readonly contents: BlobContents | null;
}

/** The last blob of a page. */
interface PageEnd {
  readonly name: string;
  /** When it was stored, in microseconds since 1970, the resolution of the database. */
  readonly micros: string;
}

const MICROS = "(extract(epoch from created_at) * 1000000)::bigint::text";

/** The kind of a blob, from its name. */
const KIND = `case
  when starts_with(name, 'feature_engine_') then 'features'
  when starts_with(name, 'data_extractor_') then 'prices'
  else 'output' end`;

/**
 * Reads at most `limit` blobs of a caller, newest first.
 * @returns `cursor`: for the next page; undefined after the last one.
 */
export async function listBlobs(
  statements: Queryable,
  caller: string,
  query: {
    readonly kind?: BlobKind | undefined;
    readonly limit: number;
    readonly after: PageEnd | undefined;
  },
): Promise<{ readonly blobs: readonly ListedBlob[]; readonly cursor: string | undefined }> {
  const { rows } = await statements.query<ListedBlob & PageEnd>(
    `select name, space, kind, bytes::float8 as bytes, created_at as "createdAt", contents, ${MICROS} as micros
     from (select *, ${KIND} as kind from blobs where caller = $1 and removed_at is null) own
     where ($2::text is null or kind = $2)
       and ($3::bigint is null or (created_at, name) < (timestamptz 'epoch' + $3::bigint * interval '1 microsecond', $4))
     order by created_at desc, name desc limit $5`,
    [caller, query.kind ?? null, query.after?.micros ?? null, query.after?.name ?? null, query.limit + 1],
  );
  const blobs = rows.slice(0, query.limit);
  const last = blobs.at(-1);
  return { blobs, cursor: last && rows.length > blobs.length ? cursorAfter(last) : undefined };
}

function cursorAfter({ name, micros }: PageEnd): string {
  return Buffer.from(`${micros} ${name}`).toString("base64url");
}

/** Up to the year 2286. */
const CURSOR = /^(\d{1,16}) ([A-Za-z0-9_.-]{1,100})$/;

/** @throws MucastError invalid_request for a text that `listBlobs` did not return. */
export function blobPageEnd(cursor: string): PageEnd {
  const [, micros, name] = CURSOR.exec(Buffer.from(cursor, "base64url").toString("latin1")) ?? [];
  if (micros !== undefined && name !== undefined) return { micros, name };
  throw new MucastError(
    "invalid_request",
    "cursor: is not one that a list gave; leave it out for the first page",
    { path: "cursor", value: cursor.slice(0, 100) },
  );
}
