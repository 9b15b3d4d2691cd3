import type { BlobStore } from "../../blob/store.ts";
import type { Database } from "../database/database.ts";
import {
  type BlobRecord,
  discardReserved,
  type Quota,
  quotaExceeded,
  recordUpload,
  type Usage,
} from "../store/blobs.ts";
import type { BlobUpload } from "./blobs.ts";
import { beingRemoved } from "./stored-removals.ts";

/** The room in their quota that the uploads in progress of a caller take. */
interface Room {
  bytes: number;
  readonly blobs: number;
  /** What the caller had stored when the upload began, and has stored since through this service. */
  stored: Usage;
}

/** The room of one upload. */
interface UploadRoom {
  /** Takes room for that many bytes in all. @throws MucastError quota_exceeded. */
  take(bytes: number): void;
  /** Closes it after the upload was recorded: the blob counts as stored for the uploads that are still in progress. */
  settle(bytes: number): void;
  close(): void;
}

/**
 * The room that the uploads in progress at this service take. The database counts an upload only once it is recorded; without this,
 * thousands of parallel uploads could each use up the same quota.
 */
export class UploadRooms {
  readonly #quota: Quota;
  readonly #byCaller = new Map<string, Set<Room>>();

  constructor(quota: Quota) {
    this.#quota = quota;
  }

  /**
   * Opens the room of an upload, empty at first.
   * @param isNew whether it adds a blob to those of the caller.
   * @param readUsage reads what the caller has stored. An upload that ends during the read may count twice, and is never missed.
   */
  async open(caller: string, isNew: boolean, readUsage: () => Promise<Usage>): Promise<UploadRoom> {
    const rooms = this.#byCaller.get(caller) ?? new Set();
    this.#byCaller.set(caller, rooms);
    const room: Room = { bytes: 0, blobs: isNew ? 1 : 0, stored: { bytes: 0, blobs: 0 } };
    rooms.add(room);
    const close = () => {
      rooms.delete(room);
      if (rooms.size === 0 && this.#byCaller.get(caller) === rooms) this.#byCaller.delete(caller);
    };
    try {
      room.stored = sum(room.stored, await readUsage());
    } catch (error) {
      close();
      throw error;
    }
    return {
      take: (bytes) => {
        const used = [...rooms].filter((other) => other !== room).reduce(sum, room.stored);
        if (used.blobs + room.blobs > this.#quota.blobs || used.bytes + bytes > this.#quota.bytes)
          throw quotaExceeded(used, this.#quota);
        room.bytes = Math.max(room.bytes, bytes);
      },
      settle: (bytes) => {
        close();
        for (const other of rooms) other.stored = sum(other.stored, { bytes, blobs: room.blobs });
      },
      close,
    };
  }
}

function sum(a: Usage, b: Usage): Usage {
  return { bytes: a.bytes + b.bytes, blobs: a.blobs + b.blobs };
}

interface UploadParts {
  readonly database: Database;
  readonly store: BlobStore;
  readonly key: string;
  readonly room: UploadRoom;
  /** Whether its name was reserved before its bytes are stored. */
  readonly isReserved: boolean;
}

/** An upload: first its bytes, then its record. */
export function startUpload(
  { database, store, key, room, isReserved }: UploadParts,
  blob: Omit<BlobRecord, "bytes">,
): BlobUpload {
  let isFinished = false;
  return {
    store,
    key,
    checkRoom: (bytes) => room.take(bytes),
    finish: async (bytes, known) => {
      for (let recorded = bytes, contents = known?.contents; ; ) {
        if (!(await recordUpload(database, { ...blob, bytes: recorded, contents })))
          throw beingRemoved(blob.name);
        // A removal may have taken the bytes before they were recorded, and another upload of the name may have replaced them.
        const stored = await store.stat(key);
        if (stored === undefined) throw beingRemoved(blob.name);
        if (stored.size === recorded && (contents === undefined || stored.etag === known?.etag)) break;
        recorded = stored.size;
        // Another upload of the name has unknown contents.
        contents = undefined;
      }
      isFinished = true;
      room.settle(bytes);
    },
    close: async () => {
      room.close();
      if (!isReserved || isFinished) return;
      // If bytes are stored without a record, by this or another upload, the name stays reserved.
      const isStored = await store.stat(key).then(
        (stored) => stored !== undefined,
        () => true,
      );
      if (!isStored) await discardReserved(database, blob);
    },
  };
}
