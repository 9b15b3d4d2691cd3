import { createHash } from "node:crypto";
import type { OperationView } from "../../contract/api/operation-view.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { MUCAST_BUILD } from "../../contract/version.ts";
import { abortError } from "../abort-error.ts";
import type { Caller } from "../auth/caller.ts";
import type { Blobs } from "../blobs/blobs.ts";
import { type JobOutput, jobOutput, outputGone } from "../forecast/forecasts.ts";

/** Where an output is, and which version of it. */
type OutputLocation = Pick<JobOutput, "space" | "name" | "etag">;

/** Outputs whose report can be drawn: one, or several side by side. */
export interface ReportedOutputs {
  readonly outputs: readonly OutputLocation[];
  /** ETag of the page, with its quotes: the same outputs and the same build of mucast give the same bytes. */
  readonly etag: string;
}

/** Draws the page of outputs, away from the event loop. */
export type DrawPage = (outputs: readonly OutputLocation[], signal: AbortSignal) => Promise<Buffer>;

export interface ReportsParts {
  readonly blobs: Pick<Blobs, "find">;
  readonly draw: DrawPage;
  /** Maximum bytes of cached pages (report_cache_bytes). */
  readonly cacheBytes: number;
}

/** A page that is being drawn, for all requests that wait for it. */
interface Drawing {
  readonly page: Promise<Buffer>;
  readonly controller: AbortController;
  waiting: number;
}

/** Reports of outputs. Concurrent requests for one page draw it once. */
export class Reports {
  readonly #parts: ReportsParts;
  /** The most recently requested pages by ETag, the least recent first. */
  readonly #pages = new Map<string, Buffer>();
  #pageBytes = 0;
  readonly #drawings = new Map<string, Drawing>();

  constructor(parts: ReportsParts) {
    this.#parts = parts;
  }

  /**
   * Finds the outputs of operations, as currently stored.
   * @param operations of the caller, at least one. @throws MucastError other_result, no_result, not_found.
   */
  async find(caller: Caller, operations: readonly OperationView[]): Promise<ReportedOutputs> {
    const outputs: OutputLocation[] = [];
    for (const operation of operations) {
      const { space, name, etag } = await jobOutput(this.#parts.blobs, caller, operation, "report");
      outputs.push({ space, name, etag });
    }
    const places = outputs.flatMap(({ space, name, etag }) => [space, name, etag]);
    const bound = JSON.stringify([MUCAST_BUILD, ...places]);
    return { outputs, etag: `"${createHash("sha256").update(bound).digest("base64url")}"` };
  }

  /**
   * The page of outputs: cached, being drawn, or new.
   * @param signal of the request; when no request waits for a page any more, its drawing ends.
   * @throws MucastError what drawing throws; not_found if the output is gone; canceled.
   */
  async page({ outputs, etag }: ReportedOutputs, signal: AbortSignal): Promise<Buffer> {
    const known = this.#pages.get(etag);
    if (known !== undefined) {
      this.#keep(etag, known);
      return known;
    }
    const drawing = this.#drawings.get(etag) ?? this.#begin(outputs, etag);
    drawing.waiting += 1;
    const left = Promise.withResolvers<never>();
    const leave = () => left.reject(abortError(signal, "draw the report"));
    signal.addEventListener("abort", leave);
    if (signal.aborted) leave();
    try {
      return await Promise.race([drawing.page, left.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
      drawing.waiting -= 1;
      if (drawing.waiting === 0) {
        // Ends it, unless it is done; the next request starts another.
        if (this.#drawings.get(etag) === drawing) this.#drawings.delete(etag);
        drawing.controller.abort();
      }
    }
  }

  #begin(outputs: readonly OutputLocation[], etag: string): Drawing {
    const controller = new AbortController();
    const page = this.#draw(outputs, etag, controller.signal);
    // Waiting requests get its error; if all have left, nothing handles it.
    page.catch(() => undefined);
    const drawing = { page, controller, waiting: 0 };
    this.#drawings.set(etag, drawing);
    return drawing;
  }

  async #draw(outputs: readonly OutputLocation[], etag: string, signal: AbortSignal): Promise<Buffer> {
    try {
      const page = await this.#parts.draw(outputs, signal);
      this.#keep(etag, page);
      return page;
    } catch (error) {
      const isGone = error instanceof MucastError && error.code === "blob_not_found";
      throw isGone ? outputGone(outputs.map(({ name }) => name)) : error;
    } finally {
      // Another drawing may have started since all requests left this one.
      if (this.#drawings.get(etag)?.controller.signal === signal) this.#drawings.delete(etag);
    }
  }

  /** Keeps a page instead of the least recently requested ones, unless it is larger than the whole cache. */
  #keep(etag: string, page: Buffer): void {
    const { cacheBytes } = this.#parts;
    if (page.length > cacheBytes) return;
    if (!this.#pages.delete(etag)) this.#pageBytes += page.length;
    this.#pages.set(etag, page);
    for (const [oldest, { length }] of this.#pages) {
      if (this.#pageBytes <= cacheBytes) return;
      this.#pages.delete(oldest);
      this.#pageBytes -= length;
    }
  }
}
