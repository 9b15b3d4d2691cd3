import { loopTurns } from "../server/request-bodies.ts";

/** More than a service has names; callers may spell one in many ways. */
const MAX_ORIGINS = 8;

/** A page that is the same for all requests to one origin. Writing it takes some milliseconds of the event loop, so it is cached. */
export class CachedPages {
  readonly #write: (origin: string) => string;
  /** By origin; the one that was requested longest ago comes first. */
  readonly #kept = new Map<string, Buffer>();

  constructor(write: (origin: string) => string) {
    this.#write = write;
  }

  /** @param reader who takes a turn of the event loop: even sending a page of some 200 KB takes a millisecond. */
  async for(origin: string, reader: string): Promise<Buffer> {
    await loopTurns.next(reader);
    const page = this.#kept.get(origin) ?? Buffer.from(this.#write(origin));
    this.#kept.delete(origin);
    if (this.#kept.size >= MAX_ORIGINS) this.#kept.delete(this.#kept.keys().next().value!);
    this.#kept.set(origin, page);
    return page;
  }
}
