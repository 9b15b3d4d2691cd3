import { basename } from "node:path";
import { isRemoteUrl } from "../blob/location.ts";
import { type Blob, openBlob } from "../blob/open-blob.ts";
import { parseDlSettings } from "../contract/config/dl-settings.ts";
import type { Operation } from "../contract/config/job-operations.ts";
import { parseMlSettings } from "../contract/config/ml-settings.ts";
import { MucastError } from "../contract/errors/errors.ts";
import type { AuditBlob } from "../contract/output/audit-blob.ts";
import type { JobContext, JobRequest } from "../jobs/shared/job.ts";

/** What an audit looks at, and how hard. */
export interface AuditInputs {
  readonly request: JobRequest;
  /** The job that the config is for. */
  readonly operation: Operation;
  /** An earlier day's blobs; both, one or none. */
  readonly previous?: {
    readonly featureUrl?: string | undefined;
    readonly dataExtractorUrl?: string | undefined;
  };
  /** Features whose implausible skill a person has acknowledged. */
  readonly accepted: ReadonlySet<string>;
  /** How many dates the blobs are cut after, one after the other. */
  readonly truncations: number;
  /** Ridge, or a network of 2 epochs, in place of the config's own model. */
  readonly quick: boolean;
  /** Whether the kernels of its jobs are pinned. */
  readonly portable?: boolean | undefined;
  /** How often the labels are permuted. */
  readonly permutations: number;
}

/** The delay of the audited job. @throws MucastError like the job. */
export function delayOf({ request, operation }: Pick<AuditInputs, "request" | "operation">): number {
  const parse = operation === "run_ml_job" ? parseMlSettings : parseDlSettings;
  return parse(request.config).settings.delay;
}

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

  /**
   * Opens a blob for one reading.
   * @throws MucastError of `openBlob`; the stream throws blob_unavailable if another reading gave other bytes.
   */
  async open(location: string): Promise<Blob> {
    const { policy, signal } = this.#context;
    const blob = await openBlob(location, policy, { signal, blobUrl: this.#blobUrl });
    const onEnd = () => this.note(location, { name: blob.name, sha256: blob.digest() });
    return { ...blob, chunks: withEnd(blob.chunks, onEnd) };
  }

  /** Records the digest of a reading that did not use `open`. @throws MucastError blob_unavailable if it differs. */
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

  /** Reads the blob only if no check has. @throws MucastError like `open`, and blob_unavailable like its stream. */
  async digest(location: string): Promise<InputDigest> {
    const before = this.#digests.get(location);
    if (before !== undefined) return before;
    const { chunks } = await this.open(location);
    for await (const _ of chunks) this.#context.signal.throwIfAborted();
    return this.#digests.get(location)!;
  }
}

async function* withEnd(chunks: AsyncIterable<Uint8Array>, onEnd: () => void): AsyncGenerator<Uint8Array> {
  yield* chunks;
  onEnd();
}
