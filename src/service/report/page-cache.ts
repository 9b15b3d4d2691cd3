/** The most recently requested pages, up to a number of bytes. */
export class PageCache {
  readonly #maxBytes: number;
  /** The least recently used one comes first. */
  readonly #pages = new Map<string, Buffer>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(key: string): Buffer | undefined {
    const page = this.#pages.get(key);
    if (page === undefined) return undefined;
    this.#pages.delete(key);
    this.#pages.set(key, page);
    return page;
  }

  /** Keeps a page instead of the least recently used ones, unless it is larger than the whole cache. */
  keep(key: string, page: Buffer): void {
    this.#remove(key);
    if (page.length > this.#maxBytes) return;
    this.#pages.set(key, page);
    this.#bytes += page.length;
    for (const oldest of this.#pages.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#remove(oldest);
    }
  }

  #remove(key: string): void {
    this.#bytes -= this.#pages.get(key)?.length ?? 0;
    this.#pages.delete(key);
  }
}
