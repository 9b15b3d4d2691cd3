import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { openStore } from "../../blob/open-store.ts";
import type { BlobStore } from "../../blob/store.ts";
import type { PayloadOptions } from "../../contract/config/payload-schemas.ts";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "../auth/caller.ts";
import type { Database } from "../database/database.ts";
import { newRow, type TestDatabase } from "../database/databases.testing.ts";
import { insertOperation } from "../operations/operations.ts";
import { recordBlob } from "../store/blobs.ts";
import { noLog } from "../telemetry/no-telemetry.testing.ts";
import { StoredBlobs, type StoredBlobsParts } from "./blobs.ts";
import { spaceOf } from "./storage.ts";

export const NAME = "feature_engine_1.json";
export const QUOTA = { bytes: 100, blobs: 5 };
/** The operator, whose space is the root of the storage. */
export const LOCAL: Caller = { subject: "local", scopes: new Set(["read", "write"]) };

/** A separate caller for each test, since the tests share a database. */
export function newCaller(): Caller {
  return { subject: `key:${randomBytes(8).toString("hex")}`, scopes: new Set(["read", "write"]) };
}

/** A name that no other test uses in the root of the storage. */
export const newName = () => `feature_engine_${randomUUID()}.json`;

export const isCode = (code: ErrorCode) => (error: unknown) =>
  error instanceof MucastError && error.code === code;

/** A storage that refuses. */
export function fail(): Promise<never> {
  return Promise.reject(
    new MucastError("output_failed", "no", {}, { cause: new Error("permission denied") }),
  );
}

/** Services on one folder and one database, and their storage. Opened before the tests of the suite that calls it. */
export function blobFixture(tested: TestDatabase) {
  const folder = mkdtempSync(join(tmpdir(), "mucast-blobs-"));
  let database: Database;
  let store: BlobStore;
  before(async () => {
    database = tested.database();
    store = await openStore("", { policy: { allowed: [], mapped: [{ base: "", folder }] } });
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const service = (overrides: Partial<StoredBlobsParts> = {}) =>
    new StoredBlobs({ database, store, settings: { auth: "keys" }, quota: QUOTA, ...overrides });

  async function put(blobs: StoredBlobs, caller: Caller, name: string, bytes: number): Promise<void> {
    const upload = (await blobs.beginUpload(caller, name, bytes))!;
    try {
      await upload.store.put(upload.key, "x".repeat(bytes));
      await upload.finish(bytes);
    } finally {
      await upload.close();
    }
  }

  /** Records a blob as the end of an operation does. */
  const record = (caller: Caller, name: string, space = spaceOf(caller.subject)) =>
    database.write((db) => recordBlob(database, db, { caller: caller.subject, space, name, bytes: null }));

  async function used(caller: Caller): Promise<{ bytes: number; blobs: number } | undefined> {
    const usage = database.db.selectFrom("blob_usage").select(["bytes", "blobs"]);
    return usage.where("caller", "=", caller.subject).executeTakeFirst();
  }

  /** Bytes of the blob that the caller finds; undefined if there is none. */
  async function sizeOf(blobs: StoredBlobs, caller: Caller, name = NAME): Promise<number | undefined> {
    const found = await blobs.find(caller, name);
    return found && (await found.store.stat(found.key))?.size;
  }

  /** The store, in which `change` replaces functions of a caller's space. */
  function storeThat(change: (own: BlobStore) => Partial<BlobStore>): BlobStore {
    const within = (space: string): BlobStore => {
      const own = store.within(space);
      const changed: Partial<BlobStore> = { within, ...change(own) };
      return new Proxy(own, {
        get: (target, member: keyof BlobStore) => {
          const value = changed[member] ?? target[member];
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
    };
    return within("");
  }

  /** As if every removal and reservation had begun long ago. */
  async function interruptAll(): Promise<void> {
    await database.write(async (db) => {
      const blobs = db.updateTable("blobs").set({ removed_at: new Date(0) });
      await blobs.where("removed_at", "is not", null).execute();
    });
  }

  /** Finishes interrupted removals, as every service does each hour. */
  const sweep = () => service().finishRemovals(noLog, new AbortController().signal);

  const eventParts = () => ({ database, webhooks: [], settings: { events_kept: 10 } });
  /** Stores an operation that names a blob of its caller. @returns its row. */
  const submit = async ({ subject }: Caller, feature: string, options: PayloadOptions = {}) => {
    const space = spaceOf(subject);
    const operation = {
      ...newRow(randomUUID(), subject),
      ...{ space, feature_url: `/${space}/data/${feature}`, options: JSON.stringify(options) },
    };
    const limits = { blobs: [{ name: feature, space }], queued: 10, quota: QUOTA };
    return (await insertOperation(eventParts(), operation, limits)).row;
  };
  /** @returns `created`, or the code of the refusal. */
  const trySubmit = (caller: Caller, feature: string) =>
    submit(caller, feature).then(
      () => "created",
      (error: MucastError) => error.code,
    );

  return {
    ...{ service, put, record, used, sizeOf, storeThat, interruptAll, sweep, submit, trySubmit },
    get store() {
      return store;
    },
    get eventParts() {
      return eventParts();
    },
    get database() {
      return database;
    },
  };
}
