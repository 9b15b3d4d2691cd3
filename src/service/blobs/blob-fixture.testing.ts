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
import { noLog } from "../telemetry/no-telemetry.testing.ts";
import { spaceOf } from "./blobs.ts";
import { StoredBlobs, type StoredBlobsParts } from "./stored-blobs.ts";
import { removalSweep } from "./stored-removals.ts";

export const NAME = "feature_engine_1.json";
export const NO_WEBHOOKS = [] as const;
export const QUOTA = { bytes: 100, blobs: 5 };
const never = new AbortController().signal;

/** A separate caller for each test, since the tests share a database. */
export function newCaller(): Caller {
  return { subject: `key:${randomBytes(8).toString("hex")}`, scopes: new Set(["read", "write"]) };
}

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

  function service(overrides: Partial<StoredBlobsParts> = {}): StoredBlobs {
    const parts = { database, store, settings: { auth: "keys" }, quota: QUOTA } as const;
    return new StoredBlobs({ ...parts, ...overrides });
  }

  async function put(blobs: StoredBlobs, caller: Caller, name: string, bytes: number): Promise<void> {
    const upload = (await blobs.beginUpload(caller, name, bytes))!;
    try {
      await upload.store.put(upload.key, "x".repeat(bytes));
      await upload.finish(bytes);
    } finally {
      await upload.close();
    }
  }

  async function used(caller: Caller): Promise<unknown> {
    const usage = database.db.selectFrom("blob_usage").select(["bytes", "blobs"]);
    return usage.where("caller", "=", caller.subject).executeTakeFirst();
  }

  /** The store, in which `changed` replaces functions of a caller's space. */
  function storeThat(changed: (own: BlobStore) => Partial<BlobStore>): BlobStore {
    const within = (space: string): BlobStore => {
      const own = store.within(space);
      const all: BlobStore = {
        url: own.url,
        within,
        stat: (key) => own.stat(key),
        read: (key, part) => own.read(key, part),
        put: (...write) => own.put(...write),
        create: (...write) => own.create(...write),
        remove: (key) => own.remove(key),
        close: () => own.close(),
      };
      return { ...all, ...changed(own) };
    };
    return within("");
  }

  /** As if every removal and reservation had begun long ago. */
  async function interruptAll(): Promise<void> {
    await database.write((db) =>
      db
        .updateTable("blobs")
        .set({ removed_at: new Date(0) })
        .where("removed_at", "is not", null)
        .execute(),
    );
  }

  /** Finishes interrupted removals, as every service does each hour. */
  const sweep = (storage = store) => removalSweep({ database, store: storage, log: noLog })(never);

  const eventParts = () => ({ database, webhooks: NO_WEBHOOKS, settings: { events_kept: 10 } });
  const submit = async ({ subject }: Caller, feature: string, options: PayloadOptions = {}) => {
    const space = spaceOf(subject);
    const operation = {
      ...newRow(randomUUID(), subject),
      ...{ space, feature_url: `/${space}/data/${feature}`, options: JSON.stringify(options) },
    };
    const limits = { blobs: [{ name: feature, space }], queued: 10, quota: QUOTA };
    try {
      const { row } = await insertOperation(eventParts(), operation, limits);
      return { kind: "created", row } as const;
    } catch (error) {
      if (isCode("quota_exceeded")(error)) return { kind: "over quota" } as const;
      if (isCode("url_not_allowed")(error)) return { kind: "missing" } as const;
      throw error;
    }
  };

  return {
    service,
    put,
    used,
    storeThat,
    interruptAll,
    sweep,
    submit,
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
