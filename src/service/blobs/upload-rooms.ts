import type { Usage } from "../store/blobs.ts";
import { type Quota, quotaExceeded } from "../store/blobs.ts";

/**
 * The room in their quotas that the uploads in progress at this service take. The database counts an upload only once it is recorded;
 * without this, thousands of parallel uploads could each use up the same quota.
 */
export class UploadRooms {
  readonly #quota: Quota;
  readonly #byCaller = new Map<string, Set<UploadRoom>>();

  constructor(quota: Quota) {
    this.#quota = quota;
  }

  /**
   * Opens the room of an upload, empty at first.
   * @param isNew whether it adds a blob to those of the caller.
   * @param readUsage reads what the caller has stored. An upload that ends during the read may count twice, and is never missed.
   */
  async open(caller: string, isNew: boolean, readUsage: () => Promise<Usage>): Promise<UploadRoom> {
    const others = this.#byCaller.get(caller) ?? new Set();
    this.#byCaller.set(caller, others);
    const onClose = () => {
      others.delete(room);
      if (others.size === 0 && this.#byCaller.get(caller) === others) this.#byCaller.delete(caller);
    };
    const room = new UploadRoom({ quota: this.#quota, isNew, others, onClose });
    others.add(room);
    try {
      room.addStored(await readUsage());
      return room;
    } catch (error) {
      room.close();
      throw error;
    }
  }
}

interface RoomParts {
  readonly quota: Quota;
  readonly isNew: boolean;
  /** The rooms of the caller's uploads, this one included until it closes. */
  readonly others: ReadonlySet<UploadRoom>;
  readonly onClose: () => void;
}

/** The room of one upload. */
export class UploadRoom {
  readonly #parts: RoomParts;
  readonly #blobs: number;
  #bytes = 0;
  /** What the caller had stored when the upload began, and has stored since through this service. */
  #stored: Usage = { bytes: 0, blobs: 0 };

  constructor(parts: RoomParts) {
    this.#parts = parts;
    this.#blobs = parts.isNew ? 1 : 0;
  }

  addStored({ bytes, blobs }: Usage): void {
    this.#stored = { bytes: this.#stored.bytes + bytes, blobs: this.#stored.blobs + blobs };
  }

  /** Takes room for that many bytes in all. @throws MucastError quota_exceeded. */
  take(bytes: number): void {
    const { quota, others } = this.#parts;
    const used = [...others].reduce(
      (sum, room) => (room === this ? sum : added(sum, { bytes: room.#bytes, blobs: room.#blobs })),
      this.#stored,
    );
    if (used.blobs + this.#blobs > quota.blobs || used.bytes + bytes > quota.bytes)
      throw quotaExceeded(used, quota);
    this.#bytes = Math.max(this.#bytes, bytes);
  }

  /** Closes it after the upload was recorded: the blob counts as stored for the uploads that are still in progress. */
  settle(bytes: number): void {
    this.close();
    for (const room of this.#parts.others) room.addStored({ bytes, blobs: this.#blobs });
  }

  close(): void {
    this.#parts.onClose();
  }
}

function added(a: Usage, b: Usage): Usage {
  return { bytes: a.bytes + b.bytes, blobs: a.blobs + b.blobs };
}
