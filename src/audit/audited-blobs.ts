import { basename } from "node:path";
import { isRemoteUrl } from "../blob/location.ts";
import { type Blob, openBlob } from "../blob/open-blob.ts";
import { MucastError } from "../contract/errors/errors.ts";
import type { AuditBlob } from "../contract/output/audit-blob.ts";
import type { JobContext } from "../jobs/shared/job.ts";

type InputDigest = AuditBlob["inputs"]["feature"];

/** The blobs that an audit reads. Each complete reading computes the digest, so that no blob is read only for its digest. */
export class AuditedBlobs {
  readonly #context: Pick<JobContext, "policy" | "signal">;
  readonly #blobUrl: string | undefined;
  /** By location as given. */
  readonly #digests = new Map<string, InputDigest>();

  /** @param blobUrl BLOB_URL as given to the job. */
  constructor(context: Pick<JobContext, "policy" | "signal">, blobUrl: string | undefined) {
    this.#context = context;
    this.#blobUrl = blobUrl;
  }

  /** Opens a blob for one reading. Its stream throws like `note`. @throws MucastError of `openBlob`. */
  async open(location: string): Promise<Blob> {
    const { policy, signal } = this.#context;
    const blob = await openBlob(location, policy, { signal, blobUrl: this.#blobUrl });
    const note = () => this.note(location, { name: blob.name, sha256: blob.digest() });
    async function* chunks() {
      yield* blob.chunks;
      note();
    }
    return { ...blob, chunks: chunks() };
  }

  /** Records the digest of a reading. @throws MucastError blob_unavailable if another reading gave other bytes. */
  note(location: string, { name, sha256 }: { readonly name: string; readonly sha256: string }): void {
    const before = this.#digests.get(location);
    if (before !== undefined && before.sha256 !== sha256) {
      throw new MucastError(
        "blob_unavailable",
        `${name} changed while it was audited; run again once nothing writes to it`,
        { source: name },
      );
    }
    this.#digests.set(location, { url: isRemoteUrl(name) ? name : basename(name), sha256 });
  }

  /** Reads the blob only if no check has. @throws MucastError like `open` and its stream. */
  async digest(location: string): Promise<InputDigest> {
    if (!this.#digests.has(location))
      for await (const _ of (await this.open(location)).chunks) this.#context.signal.throwIfAborted();
    return this.#digests.get(location)!;
  }
}
