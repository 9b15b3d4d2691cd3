import type { BlobStore } from "../../blob/store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "../auth/caller.ts";
import type { BlobAddress, Blobs, BlobUpload, ListedBlobs } from "../blobs/blobs.ts";
import { spaceOf } from "../blobs/storage.ts";

/** A fake: every caller has a space in a real store, without records of its blobs. */
export class FakeBlobs implements Blobs {
  readonly #store: BlobStore;
  /** Bytes that an upload may have. */
  room = Number.POSITIVE_INFINITY;
  /** The sizes of recorded uploads. */
  readonly uploads: number[] = [];
  /** What a list shows to each caller. */
  readonly listed: ListedBlobs["blobs"][number][] = [];
  /** Blobs that an operation names. */
  readonly inUse = new Set<string>();

  constructor(store: BlobStore) {
    this.#store = store;
  }

  async list(): Promise<ListedBlobs> {
    return { blobs: this.listed, cursor: undefined };
  }

  async find({ subject }: Caller, name: string): Promise<BlobAddress> {
    const space = spaceOf(subject);
    return { space, store: this.#store.within(space), key: `data/${name}` };
  }

  uploadAddress(caller: Caller, name: string): Promise<BlobAddress> {
    return this.find(caller, name);
  }

  async beginUpload(caller: Caller, name: string, bytes = 0): Promise<BlobUpload> {
    const checkRoom = (needed: number) => {
      if (needed > this.room) throw new MucastError("quota_exceeded", `${this.room} bytes are left`);
    };
    checkRoom(bytes);
    return {
      ...(await this.find(caller, name)),
      checkRoom,
      finish: async (stored) => void this.uploads.push(stored),
      close: async () => undefined,
    };
  }

  async remove(caller: Caller, name: string): Promise<boolean> {
    if (this.inUse.has(name)) throw new MucastError("blob_in_use", `${name} is named by an operation`);
    const { store, key } = await this.find(caller, name);
    if ((await store.stat(key)) === undefined) return false;
    await store.remove(key);
    return true;
  }
}
