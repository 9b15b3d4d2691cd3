import { nameTaken } from "../blob-errors.ts";
import { checkSpace } from "../names.ts";
import { openRemoteBlob } from "../remote/remote-blob.ts";
import { failed, Refusal, type RequestContext } from "../remote/storage-request.ts";
import {
  type Content,
  checkKey,
  type JobStore,
  type ListedBlob,
  placeOf,
  type ReadPart,
  type StoredBlob,
  type StoredBytes,
  type StoreWrite,
} from "../store.ts";
import { AzureContainer } from "./azure-container.ts";
import { type CredentialSources, findCredentials } from "./azure-credentials.ts";
import type { TransportOptions } from "./azure-transport.ts";
import { upload } from "./azure-upload.ts";

/** @throws MucastError invalid_request if the credentials do not fit the container. */
export async function openAzureStore(
  container: string,
  { sas, env, ...options }: TransportOptions & CredentialSources,
): Promise<JobStore> {
  const credentials = await findCredentials(container, { sas, env });
  return new AzureStore(new AzureContainer(container, credentials, options));
}

/** So that the XML of a page stays within the limit of an answer: Azure describes a blob in less than 2 KiB. */
const BLOBS_PER_PAGE = 500;

/** Blobs `data/<name>` and `status/<name>` of an Azure container, of a folder in one, or of a space in that. */
class AzureStore implements JobStore {
  readonly url: string;
  readonly #container: AzureContainer;
  readonly #space: string;

  constructor(container: AzureContainer, space = "") {
    this.#space = checkSpace(space);
    this.url = space === "" ? container.url : `${container.url}/${space}`;
    this.#container = container;
  }

  within(space: string): AzureStore {
    return new AzureStore(this.#container, space);
  }

  async stat(key: string): Promise<StoredBlob | undefined> {
    const context = this.#requestContext("reading", key);
    const { etag, contentLength } = (await this.#properties(context, key)) ?? {};
    return etag === undefined ? undefined : { size: contentLength!, etag };
  }

  async open(key: string, signal?: AbortSignal): Promise<StoredBytes> {
    return this.#openPart(key, { signal });
  }

  async *read(key: string, part: ReadPart = {}): AsyncGenerator<Uint8Array> {
    const stored = await this.#openPart(key, part);
    try {
      yield* stored.chunks;
    } finally {
      await stored.close();
    }
  }

  /** Without the SDK, whose downloads end if a connection breaks (12.34). */
  async #openPart(key: string, { signal, ...part }: ReadPart): Promise<StoredBytes> {
    const { name } = this.#requestContext("reading", key);
    const access = await this.#container.readAccess(this.#nameOf(key));
    const { authorize } = access;
    return openRemoteBlob(access.url, name, { ...this.#container.options, authorize, part, signal });
  }

  async put(key: string, content: Content, { signal, limit }: StoreWrite = {}) {
    const context = this.#requestContext("writing", key, signal);
    const created = (await this.#properties(context, key)) === undefined;
    const etag = await upload(this.#container, this.#nameOf(key), context, {
      content,
      limit,
      onlyNew: false,
    });
    return { created, etag };
  }

  async create(key: string, content: Content, { signal, limit }: StoreWrite = {}) {
    const context = this.#requestContext("writing", key, signal);
    return {
      etag: await upload(this.#container, this.#nameOf(key), context, { content, limit, onlyNew: true }),
    };
  }

  async checkNew(key: string): Promise<void> {
    const context = this.#requestContext("writing", key);
    if ((await this.#properties(context, key)) !== undefined) throw nameTaken(context.name);
  }

  async remove(key: string): Promise<void> {
    const context = this.#requestContext("writing", key);
    try {
      await this.#container.request(context, (options) =>
        this.#container.client(this.#nameOf(key)).delete(options),
      );
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.status !== 404) throw failed(context, error.message);
    }
  }

  async *list(): AsyncGenerator<ListedBlob> {
    const context: RequestContext = { doing: "reading", name: this.#container.url };
    const { client, prefix } = this.#container.whole();
    let next: string | undefined;
    do {
      const page = await this.#container
        .request(context, async (options) => {
          const start = next === undefined ? {} : { continuationToken: next };
          const pages = client
            .listBlobsFlat({ prefix, ...options })
            .byPage({ ...start, maxPageSize: BLOBS_PER_PAGE });
          return (await pages.next()).value;
        })
        .catch((error: unknown) => {
          throw error instanceof Refusal ? failed(context, error.message) : error;
        });
      for (const { name, properties } of page.segment.blobItems) {
        const place = placeOf(name.slice(prefix.length));
        const { contentLength: size = 0, lastModified: modifiedAt } = properties;
        if (place !== undefined) yield { ...place, size, modifiedAt };
      }
      next = page.continuationToken || undefined;
    } while (next !== undefined);
  }

  async close(): Promise<void> {
    if (this.#space === "") this.#container.close();
  }

  /** Relative to the container. */
  #nameOf(key: string): string {
    return this.#space === "" ? key : `${this.#space}/${key}`;
  }

  #requestContext(doing: RequestContext["doing"], key: string, signal?: AbortSignal): RequestContext {
    return { doing, name: `${this.url}/${checkKey(key)}`, signal };
  }

  /** @returns undefined if there is no such blob; a missing container is an error. */
  async #properties(context: RequestContext, key: string) {
    try {
      return await this.#container.request(context, (options) =>
        this.#container.client(this.#nameOf(key)).getProperties(options),
      );
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.status === 404 && error.word !== "ContainerNotFound") return undefined;
      throw failed(context, error.message);
    }
  }
}
