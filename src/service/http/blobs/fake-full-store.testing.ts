import { outputFailed } from "../../../blob/blob-errors.ts";
import type { BlobStore } from "../../../blob/store.ts";
import { causeOf } from "../../../contract/errors/system-error.ts";

/** A fake: a folder in which every write fails with an error of the system. */
export class FakeFullStore implements BlobStore {
  readonly url = "";
  readonly #errno: string;

  constructor(errno: string) {
    this.#errno = errno;
  }

  within(): this {
    return this;
  }

  async stat(): Promise<undefined> {
    return undefined;
  }

  async *read(): AsyncGenerator<Uint8Array> {
    yield new Uint8Array(0);
  }

  put(key: string): Promise<never> {
    const error = Object.assign(new Error(this.#errno), { code: this.#errno });
    return Promise.reject(outputFailed(`/${key}`, causeOf(error), error));
  }

  create(key: string): Promise<never> {
    return this.put(key);
  }

  async remove(): Promise<void> {
    return undefined;
  }

  async close(): Promise<void> {
    return undefined;
  }
}
