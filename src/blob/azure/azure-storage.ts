import { createHash } from "node:crypto";
import type { AccessToken } from "@azure/identity";
import {
  AnonymousCredential,
  BlobSASPermissions,
  BlockBlobClient,
  type BlockBlobCommitBlockListOptions,
  ContainerClient,
  isRestError,
  newPipeline,
  type Pipeline,
} from "@azure/storage-blob";
import { MucastError } from "../../contract/errors/errors.ts";
import { throwIfAborted } from "../blob-errors.ts";
import { mediaType } from "../names.ts";
import type {
  BlockUpload,
  CloudStorage,
  FoundBlob,
  RemoteAccess,
  UploadOptions,
} from "../remote/cloud-store.ts";
import type { RemoteOptions } from "../remote/remote-blob.ts";
import {
  describeAnswer,
  failed,
  failureOf,
  isPassingStatus,
  isTrustFailure,
  Refusal,
  type RequestContext,
  Retry,
} from "../remote/remote-request.ts";
import { type AzureCredentials, findCredentials } from "./azure-credentials.ts";
import { AzureTransport } from "./azure-transport.ts";

const SCOPE = "https://storage.azure.com/.default";
/** Version of Azure's REST interface for reading: old enough to be available everywhere. */
const VERSION = { "x-ms-version": "2021-12-02" };
const CLOCK_SKEW_MS = 15 * 60_000;
/** Before a token expires. */
const RENEW_MS = 5 * 60_000;
/** So that the XML of a page stays within the limit of an answer: Azure describes a blob in less than 2 KiB. */
const BLOBS_PER_PAGE = 500;

/** Sends no request. @throws MucastError invalid_request if the credentials do not fit the container. */
export async function openAzure(
  container: string,
  { sas, env, ...options }: RemoteOptions & { sas: string | undefined; env: NodeJS.ProcessEnv },
): Promise<AzureStorage> {
  return new AzureStorage(container, await findCredentials(container, sas, env), options);
}

/** A container of Azure and its credentials. */
class AzureStorage implements CloudStorage {
  readonly url: string;
  /** Small enough to be sent within the time limit of a request on a slow line; 50,000 of them make a blob of 195 GiB. */
  readonly blockBytes = 4 * 2 ** 20;
  readonly #options: RemoteOptions;
  readonly #credentials: AzureCredentials;
  readonly #query: string;
  readonly #transport: AzureTransport;
  readonly #pipeline: Pipeline;

  constructor(url: string, credentials: AzureCredentials, options: RemoteOptions) {
    this.url = url;
    this.#options = options;
    this.#credentials = credentials;
    this.#query = credentials.kind === "sas" ? `?${credentials.sas}` : "";
    this.#transport = new AzureTransport(new URL(url).origin, options);
    const credential = credentials.kind === "sas" ? new AnonymousCredential() : credentials.credential;
    this.#pipeline = newPipeline(credential, {
      httpClient: this.#transport,
      // The SDK does not retry, so that all retries are counted and paused for in one way.
      retryOptions: { maxTries: 1 },
    });
  }

  close(): void {
    this.#transport.close();
  }

  async find(name: string, context: RequestContext): Promise<FoundBlob | undefined> {
    try {
      const { etag, contentLength, metadata } = await this.#request(context, (options) =>
        this.#client(name).getProperties(options),
      );
      return { etag: etag!, size: contentLength!, mark: metadata?.upload };
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 404) throw error;
      if (error.word !== "ContainerNotFound") return undefined;
      throw failed(context, describeAnswer(404, error.word));
    }
  }

  /** At a URL with a SAS, or with a token in the headers. */
  async openAccess(name: string, context: RequestContext): Promise<RemoteAccess> {
    const client = this.#client(name);
    const credentials = this.#credentials;
    if (credentials.kind !== "token") {
      const expiresOn = new Date(Date.now() + this.#options.limits.totalMs + CLOCK_SKEW_MS);
      const permissions = BlobSASPermissions.from({ read: true });
      const isSigned = credentials.kind === "sas";
      const url = isSigned ? client.url : await client.generateSasUrl({ permissions, expiresOn });
      return { ...this.#options, url: new URL(url), authorize: async () => VERSION };
    }
    let access: AccessToken | null = null;
    const authorize = async () => {
      // Some credentials start a program for each token.
      if (access === null || access.expiresOnTimestamp - Date.now() < RENEW_MS) {
        access = await credentials.credential.getToken(SCOPE).catch((error: unknown) => {
          throw failed(context, noToken(error));
        });
      }
      return { ...VERSION, authorization: `Bearer ${access?.token}` };
    };
    return { ...this.#options, url: new URL(client.url), authorize };
  }

  /** Each block carries its MD5, and the blob that of the whole. Azure drops unused blocks after a week. */
  upload(name: string, context: RequestContext, { mark, onlyNew }: UploadOptions): BlockUpload {
    const client = this.#client(name);
    const ids: string[] = [];
    const md5 = createHash("md5");
    const send = async (block: Uint8Array) => {
      md5.update(block);
      // Block ids of one blob have one length, and another upload to the same name must not use the same.
      const id = Buffer.from(`${mark}-${String(ids.length).padStart(6, "0")}`).toString("base64");
      const transactionalContentMD5 = createHash("md5").update(block).digest();
      await this.#request(context, (options) =>
        client.stageBlock(id, block, block.length, { ...options, transactionalContentMD5 }),
      );
      ids.push(id);
    };
    const finish = async (last: Uint8Array) => {
      if (ids.length > 0) await send(last);
      else md5.update(last);
      const whole = md5.digest();
      const facts: BlockBlobCommitBlockListOptions = {
        conditions: onlyNew ? { ifNoneMatch: "*" } : {},
        blobHTTPHeaders: { blobContentType: mediaType(name), blobContentMD5: whole },
        metadata: { upload: mark },
      };
      const { etag } = await this.#request<{ etag?: string }>(context, (options) =>
        ids.length > 0
          ? client.commitBlockList(ids, { ...facts, ...options })
          : client.upload(last, last.length, { ...facts, ...options, transactionalContentMD5: whole }),
      );
      return etag!;
    };
    return { send, finish, abort: async () => undefined };
  }

  async remove(name: string, context: RequestContext): Promise<void> {
    await this.#request(context, (options) => this.#client(name).deleteIfExists(options));
  }

  async *list(context: RequestContext) {
    const { name } = this.#client("x");
    const prefix = name.slice(0, -1);
    const container = `${this.url}/x`.slice(0, -1 - name.length);
    const client = new ContainerClient(`${container}${this.#query}`, this.#pipeline);
    let next: string | undefined;
    do {
      const start = next === undefined ? {} : { continuationToken: next };
      const page = await this.#request(context, async (options) => {
        const blobs = client.listBlobsFlat({ prefix, ...options });
        return (await blobs.byPage({ ...start, maxPageSize: BLOBS_PER_PAGE }).next()).value;
      });
      for (const { name, properties } of page.segment.blobItems) {
        const { contentLength: size = 0, lastModified: modifiedAt } = properties;
        yield { name: name.slice(prefix.length), size, modifiedAt };
      }
      next = page.continuationToken || undefined;
    } while (next !== undefined);
  }

  #client(name: string): BlockBlobClient {
    return new BlockBlobClient(`${this.url}/${name}${this.#query}`, this.#pipeline);
  }

  /** One request through the SDK, retried while its failures may pass. */
  async #request<T>(
    context: RequestContext,
    send: (options: { abortSignal: AbortSignal }) => Promise<T>,
  ): Promise<T> {
    const retry = new Retry(this.#options.limits);
    const signal = context.signal ?? new AbortController().signal;
    for (;;) {
      try {
        return await send({ abortSignal: signal });
      } catch (error) {
        throwIfAborted(signal, context.doing, context.name);
        const reason = reasonToRetry(context, error);
        if (!retry.another() || isTrustFailure(error)) throw failed(context, `${reason}${retry.note}`);
        await retry.pause(signal).catch(() => undefined);
        throwIfAborted(signal, context.doing, context.name);
      }
    }
  }
}

/** Why a failed request may be retried. @throws if it may not. */
function reasonToRetry(context: RequestContext, error: unknown): string {
  if (error instanceof MucastError) throw error;
  if (isRestError(error) && error.statusCode !== undefined) {
    const word = error.response?.headers.get("x-ms-error-code") ?? error.code ?? "";
    if (isPassingStatus(error.statusCode)) return describeAnswer(error.statusCode, word);
    throw new Refusal(context, error.statusCode, word);
  }
  if (error instanceof Error && /Authentication|CredentialUnavailable/.test(error.name)) {
    throw failed(context, noToken(error));
  }
  return failureOf(error);
}

/** Without the message of the credential's error, which may be long and contain a secret. */
function noToken(error: unknown): string {
  const name = error instanceof Error ? ` (${error.name})` : "";
  return (
    `no token for Azure could be obtained${name}; give AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_SAS_TOKEN or a ` +
    "BLOB_URL with a SAS, or an identity that DefaultAzureCredential finds"
  );
}
