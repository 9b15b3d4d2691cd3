import type { TokenCredential } from "@azure/identity";
import {
  AnonymousCredential,
  BlobSASPermissions,
  BlockBlobClient,
  ContainerClient,
  isRestError,
  newPipeline,
  type Pipeline,
  type StorageSharedKeyCredential,
} from "@azure/storage-blob";
import { MucastError } from "../../contract/errors/errors.ts";
import { canceled } from "../blob-errors.ts";
import { failureOf, isPassingStatus, isTrustFailure, Retry } from "../remote/remote-request.ts";
import { failed, Refusal, type RequestContext } from "../remote/storage-request.ts";
import type { AzureCredentials } from "./azure-credentials.ts";
import { AzureTransport, type TransportOptions } from "./azure-transport.ts";

const SCOPE = "https://storage.azure.com/.default";
/** Version of Azure's REST interface for reading: old enough to be available everywhere. */
const REST_VERSION = "2021-12-02";
const CLOCK_SKEW_MS = 15 * 60_000;

/** A container and its credentials: creates clients of its blobs, and retries their requests. */
export class AzureContainer {
  readonly url: string;
  readonly options: TransportOptions;
  readonly #credentials: AzureCredentials;
  readonly #transport: AzureTransport;
  readonly #pipeline: Pipeline;

  constructor(url: string, credentials: AzureCredentials, options: TransportOptions) {
    this.url = url;
    this.options = options;
    this.#credentials = credentials;
    this.#transport = new AzureTransport(new URL(url).origin, options);
    this.#pipeline = newPipeline(proofOf(credentials), {
      httpClient: this.#transport,
      // The SDK does not retry, so that all retries are counted and paused for in one way.
      retryOptions: { maxTries: 1 },
    });
  }

  close(): void {
    this.#transport.close();
  }

  client(key: string): BlockBlobClient {
    const { kind } = this.#credentials;
    const query = kind === "sas" ? `?${this.#credentials.sas}` : "";
    return new BlockBlobClient(`${this.url}/${key}${query}`, this.#pipeline);
  }

  /** The client of the container itself, and the prefix of all names in `url`, which may name a folder in it. */
  whole(): { readonly client: ContainerClient; readonly prefix: string } {
    const { name } = this.client("x");
    const [url, query] = this.client("x").url.split("?") as [string, string?];
    const container = url.slice(0, -"/".length - name.length);
    const client = new ContainerClient(
      query === undefined ? container : `${container}?${query}`,
      this.#pipeline,
    );
    return { client, prefix: name.slice(0, -"x".length) };
  }

  /** How to read a blob without the SDK: at a URL with a SAS, or with a token in the headers. */
  async readAccess(key: string): Promise<{ url: URL; authorize: () => Promise<Record<string, string>> }> {
    const credentials = this.#credentials;
    const version = { "x-ms-version": REST_VERSION };
    const client = this.client(key);
    if (credentials.kind === "token") {
      return {
        url: new URL(client.url),
        authorize: async () => ({ ...version, ...(await this.#bearer(key)) }),
      };
    }
    const expiresOn = new Date(Date.now() + this.options.limits.totalMs + CLOCK_SKEW_MS);
    const permissions = BlobSASPermissions.from({ read: true });
    const url =
      credentials.kind === "sas" ? client.url : await client.generateSasUrl({ permissions, expiresOn });
    return { url: new URL(url), authorize: async () => version };
  }

  async #bearer(key: string): Promise<Record<string, string>> {
    if (this.#credentials.kind !== "token") return {};
    const { token } = this.#credentials;
    const context: RequestContext = { doing: "reading", name: `${this.url}/${key}` };
    const access = await token.getToken(SCOPE).catch((error: unknown) => {
      throw failed(context, noToken(error));
    });
    if (access === null) throw failed(context, noToken(undefined));
    return { authorization: `Bearer ${access.token}` };
  }

  /**
   * One request through the SDK, retried while its failures may pass.
   * @throws Refusal if Azure refuses; MucastError blob_unavailable (reading) or output_failed (writing), canceled.
   */
  async request<T>(
    context: RequestContext,
    send: (options: { abortSignal: AbortSignal }) => Promise<T>,
  ): Promise<T> {
    const retry = new Retry(this.options.limits);
    const signal = context.signal ?? new AbortController().signal;
    for (;;) {
      try {
        return await send({ abortSignal: signal });
      } catch (error) {
        if (signal.aborted) throw canceled(signal, context.doing, context.name);
        const reason = reasonToRetry(context, error);
        if (!retry.another() || isTrustFailure(error)) throw failed(context, `${reason}${retry.note}`);
        await retry.pause(signal).catch(() => {
          throw canceled(signal, context.doing, context.name);
        });
      }
    }
  }
}

function proofOf(
  credentials: AzureCredentials,
): StorageSharedKeyCredential | TokenCredential | AnonymousCredential {
  switch (credentials.kind) {
    case "key":
      return credentials.key;
    case "token":
      return credentials.token;
    case "sas":
      // The SAS is in the URL.
      return new AnonymousCredential();
  }
}

/** Why a failed request may be retried. @throws if it may not. */
function reasonToRetry(context: RequestContext, error: unknown): string {
  if (error instanceof MucastError) throw error;
  if (isRestError(error) && error.statusCode !== undefined) {
    const word = error.response?.headers.get("x-ms-error-code") ?? error.code ?? "";
    const refusal = new Refusal(error.statusCode, word);
    if (isPassingStatus(error.statusCode)) return refusal.message;
    throw refusal;
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
