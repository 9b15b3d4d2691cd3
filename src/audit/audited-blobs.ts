import { basename } from "node:path";
import { isRemoteUrl } from "../blob/location.ts";
import { type Blob, openBlob } from "../blob/open-blob.ts";
import { MucastError } from "../contract/errors/errors.ts";
import type { TickerFeatures } from "../contract/market/ticker-series.ts";
import type { AuditBlob } from "../contract/output/audit-blob.ts";
import { readFeatures } from "../ingest/read-blob.ts";
import { readPrices } from "../ingest/read-prices.ts";
import type { JobContext } from "../jobs/shared/job.ts";

/**
 * The blobs that an audit reads. Each complete reading computes the digest, so that no blob is read only for its digest. All methods throw
 * MucastError of the blob, and `blob_unavailable` if another reading gave other bytes.
 */
export class AuditedBlobs {
  readonly #context: Pick<JobContext, "policy" | "signal">;
  readonly #blobUrl: string | undefined;
  readonly #workFolder: string;
  /** By location as given. */
  readonly #noted = new Map<string, { readonly name: string; readonly sha256: string }>();

  /** @param blobUrl BLOB_URL as given to the job. @param workFolder for temporary files. */
  constructor(
    context: Pick<JobContext, "policy" | "signal">,
    blobUrl: string | undefined,
    workFolder: string,
  ) {
    this.#context = context;
    this.#blobUrl = blobUrl;
    this.#workFolder = workFolder;
  }

  /** A data-extraction blob, with its name in errors. */
  async readPrices(location: string) {
    const blob = await this.#open(location);
    return { name: blob.name, prices: await readPrices(blob, this.#reading) };
  }

  async *readFeatures(location: string): AsyncGenerator<TickerFeatures, void, void> {
    const blob = await this.#open(location);
    try {
      yield* readFeatures(blob, this.#reading);
    } finally {
      await blob.close();
    }
  }

  /** The name in errors of a blob that was read. */
  nameOf(location: string): string {
    return this.#noted.get(location)!.name;
  }

  note(location: string, { name, sha256 }: { readonly name: string; readonly sha256: string }): void {
    const before = this.#noted.get(location);
    if (before !== undefined && before.sha256 !== sha256) {
      const message = `${name} changed while it was audited; run again once nothing writes to it`;
      throw new MucastError("blob_unavailable", message, { source: name });
    }
    this.#noted.set(location, { name, sha256 });
  }

  /** Reads the blob only if no check has. */
  async digest(location: string): Promise<AuditBlob["inputs"]["feature"]> {
    if (!this.#noted.has(location))
      for await (const _ of (await this.#open(location)).chunks) this.#context.signal.throwIfAborted();
    const { name, sha256 } = this.#noted.get(location)!;
    return { url: isRemoteUrl(name) ? name : basename(name), sha256 };
  }

  async #open(location: string): Promise<Blob> {
    const { policy, signal } = this.#context;
    const blob = await openBlob(location, policy, { signal, blobUrl: this.#blobUrl });
    const note = () => this.note(location, { name: blob.name, sha256: blob.digest() });
    async function* chunks() {
      yield* blob.chunks;
      note();
    }
    return { ...blob, chunks: chunks() };
  }

  get #reading() {
    const { policy, signal } = this.#context;
    return { workFolder: this.#workFolder, signal, limits: policy.limits };
  }
}
