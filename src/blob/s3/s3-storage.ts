import {
  type $Command,
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
  type S3ClientResolvedConfig,
  type S3ServiceException,
  type ServiceInputTypes,
  type ServiceOutputTypes,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { defaultProvider } from "@aws-sdk/credential-provider-node";
import { MucastError } from "../../contract/errors/errors.ts";
import { throwIfAborted } from "../blob-errors.ts";
import { addressRule } from "../location.ts";
import { mediaType } from "../names.ts";
import { type BlobPolicy, s3PlaceOf, spellingFault, type TransferLimits } from "../policy.ts";
import { checkAddress, guardedAgent } from "../remote/addresses.ts";
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
} from "../remote/remote-request.ts";

export interface S3Options {
  readonly policy: BlobPolicy;
  readonly limits: TransferLimits;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly ca: string | undefined;
}

/** A bucket of S3, or a folder in one; the SDK sends, signs and retries the requests. */
export class S3Storage implements CloudStorage {
  readonly url: string;
  /** S3 has at most 10,000 parts a blob, each of at least 5 MiB: these make a blob of 78 GiB. */
  readonly blockBytes = 8 * 2 ** 20;
  readonly #Bucket: string;
  readonly #folder: string;
  readonly #client: S3Client;
  readonly #access: RemoteOptions;

  private constructor(url: string, client: S3Client, access: RemoteOptions) {
    const { bucket, folder } = s3PlaceOf(url);
    this.url = url;
    this.#Bucket = bucket;
    this.#folder = folder === "" ? "" : `${folder}/`;
    this.#client = client;
    this.#access = access;
  }

  /**
   * Sends no request. @param url without a fault.
   * @throws MucastError invalid_request without a region or for an unusual endpoint, url_not_allowed for an endpoint's private address.
   */
  static async open(url: string, { policy, limits, env, ca }: S3Options): Promise<S3Storage> {
    const config = readS3Config(env, limits);
    const endpoint = await findEndpoint(config, s3PlaceOf(url).bucket);
    const { origin, protocol } = endpoint;
    const fault = spellingFault(origin, policy.privateOrigins);
    if (fault !== undefined) throw unfit(`the endpoint ${origin} ${fault}`, "AWS_ENDPOINT_URL");
    const addresses = addressRule(endpoint, policy);
    checkAddress(endpoint, addresses);
    const agent = guardedAgent(origin, addresses, { ca });
    const requestHandler = {
      ...(protocol === "http:" ? { httpAgent: agent } : { httpsAgent: agent }),
      connectionTimeout: limits.connectMs,
      socketTimeout: limits.idleMs,
    };
    return new S3Storage(url, new S3Client({ ...config, requestHandler }), { limits, ca, addresses });
  }

  close(): void {
    this.#client.destroy();
  }

  async find(name: string, context: RequestContext): Promise<FoundBlob | undefined> {
    try {
      const found = await this.#send(context, new HeadObjectCommand(this.#place(name)));
      return { size: found.ContentLength!, etag: found.ETag!, mark: found.Metadata?.upload };
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
    try {
      await this.#send(context, new HeadBucketCommand({ Bucket: this.#Bucket }));
      return undefined;
    } catch (error) {
      throw isMissing(error) ? failed(context, `there is no bucket ${this.#Bucket} (404)`) : error;
    }
  }

  /** Each request gets a new signature, because credentials may expire meanwhile. */
  async openAccess(name: string, context: RequestContext): Promise<RemoteAccess> {
    const sign = async () => {
      const command = new GetObjectCommand(this.#place(name));
      // The first step after the signature.
      const signed = interceptRequest(command, "deserialize");
      await this.#send(context, command);
      return signed();
    };
    const url = urlOf(await sign());
    return { ...this.#access, url, authorize: async () => (await sign()).headers };
  }

  /** The SDK gives each request the CRC-32 of its bytes, which the storage checks. */
  upload(name: string, context: RequestContext, { mark, onlyNew }: UploadOptions): BlockUpload {
    const place = this.#place(name);
    const facts = { ...place, ContentType: mediaType(name), Metadata: { upload: mark } };
    const condition = onlyNew ? { IfNoneMatch: "*" } : {};
    const parts: CompletedPart[] = [];
    let UploadId: string | undefined;
    const send = async (Body: Uint8Array) => {
      const begin = new CreateMultipartUploadCommand({ ...facts, ChecksumAlgorithm: "CRC32" });
      UploadId ??= (await this.#send(context, begin)).UploadId!;
      const part = { PartNumber: parts.length + 1 };
      const command = new UploadPartCommand({ ...place, ...part, UploadId, Body });
      const { ETag, ChecksumCRC32 } = await this.#send(context, command);
      parts.push({ ...part, ETag, ChecksumCRC32 });
    };
    const finish = async (last: Uint8Array) => {
      if (UploadId === undefined) {
        const put = new PutObjectCommand({ ...facts, ...condition, Body: last });
        return (await this.#send(context, put)).ETag!;
      }
      await send(last);
      const MultipartUpload = { Parts: parts };
      const complete = new CompleteMultipartUploadCommand({
        ...place,
        ...condition,
        UploadId,
        MultipartUpload,
      });
      return (await this.#send(context, complete)).ETag!;
    };
    /** If it fails too, the bucket's lifecycle rule drops the parts. */
    const abort = async () => {
      if (UploadId === undefined) return;
      const command = new AbortMultipartUploadCommand({ ...place, UploadId });
      await this.#send({ ...context, signal: undefined }, command).catch(() => undefined);
    };
    return { send, finish, abort };
  }

  async remove(name: string, context: RequestContext): Promise<void> {
    await this.#send(context, new DeleteObjectCommand(this.#place(name))).catch((error: unknown) => {
      if (!(error instanceof Refusal) || error.word !== "NoSuchKey") throw error;
    });
  }

  async *list(context: RequestContext) {
    const { Bucket, Key: Prefix } = this.#place("");
    let ContinuationToken: string | undefined;
    do {
      const page = await this.#send(context, new ListObjectsV2Command({ Bucket, Prefix, ContinuationToken }));
      for (const { Key = "", Size: size = 0, LastModified: modifiedAt } of page.Contents ?? []) {
        if (modifiedAt !== undefined) yield { name: Key.slice(Prefix.length), size, modifiedAt };
      }
      ContinuationToken = page.NextContinuationToken;
    } while (ContinuationToken !== undefined);
  }

  #place(name: string): { Bucket: string; Key: string } {
    return { Bucket: this.#Bucket, Key: `${this.#folder}${name}` };
  }

  async #send<I extends ServiceInputTypes, O extends ServiceOutputTypes>(
    context: RequestContext,
    command: $Command<I, O, S3ClientResolvedConfig, ServiceInputTypes, ServiceOutputTypes>,
  ): Promise<O> {
    const signal = context.signal ?? new AbortController().signal;
    try {
      return await this.#client.send(command, { abortSignal: signal });
    } catch (error) {
      throwIfAborted(signal, context.doing, context.name);
      throw explain(context, error);
    }
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Refusal && error.status === 404;
}

/** A request as the SDK builds it. */
interface BuiltRequest {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
}

/** Makes a command end before its request is sent. @returns the request, once the command has ended. */
function interceptRequest(command: GetObjectCommand, step: "build" | "deserialize"): () => BuiltRequest {
  let built: BuiltRequest | undefined;
  command.middlewareStack.add(
    () => async (args) => {
      built = args.request as BuiltRequest;
      return { response: {}, output: { $metadata: {} } };
    },
    { step: step as "build", priority: "high", name: "mucastIntercept" },
  );
  return () => built!;
}

function urlOf({ protocol, hostname, port, path, query = {} }: BuiltRequest): URL {
  const url = new URL(`${protocol}//${hostname}${port === undefined ? "" : `:${port}`}${path}`);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

/** The URL that the requests for a bucket go to. @throws MucastError invalid_request without a region. */
async function findEndpoint(config: S3ClientConfig, Bucket: string): Promise<URL> {
  // With credentials of its own, the SDK does not look for any yet.
  const client = new S3Client({ ...config, credentials: { accessKeyId: "none", secretAccessKey: "none" } });
  const command = new GetObjectCommand({ Bucket, Key: "data" });
  const built = interceptRequest(command, "build");
  try {
    await client.send(command);
    return urlOf(built());
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw unfit(`BLOB_URL names a bucket of S3, but its endpoint is unknown: ${reason}`, "AWS_REGION");
  } finally {
    client.destroy();
  }
}

/** The error for one of the SDK. */
function explain(context: RequestContext, error: unknown): MucastError {
  if (error instanceof MucastError) return error;
  const { name = "", $metadata = {} } = error as Partial<S3ServiceException>;
  const { httpStatusCode: status, attempts = 1 } = $metadata;
  const note = attempts > 1 ? ` (tried ${attempts} times)` : "";
  if (status !== undefined) {
    if (isPassingStatus(status)) return failed(context, `${describeAnswer(status, name)}${note}`);
    return new Refusal(context, status, name);
  }
  if (name === "CredentialsProviderError") return failed(context, NO_CREDENTIALS);
  return failed(context, `${failureOf(error)}${isTrustFailure(error) ? "" : note}`);
}

/** Without the message of the provider's error, which may contain a secret. */
const NO_CREDENTIALS =
  "no credentials for S3 were found; give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile or role that the AWS SDK finds";

/** The region, endpoint, credentials and retries of S3, from the variables that the AWS SDK reads. @throws MucastError invalid_request. */
function readS3Config(env: S3Options["env"], { attempts }: TransferLimits): S3ClientConfig {
  const endpoint = env.AWS_ENDPOINT_URL_S3?.trim() || env.AWS_ENDPOINT_URL?.trim() || undefined;
  const region = env.AWS_REGION?.trim() || env.AWS_DEFAULT_REGION?.trim() || undefined;
  const style = env.MUCAST_S3_PATH_STYLE?.trim().toLowerCase() ?? "";
  if (!["", "true", "false"].includes(style)) {
    throw unfit(
      `MUCAST_S3_PATH_STYLE must be true or false, got ${style.slice(0, 20)}`,
      "MUCAST_S3_PATH_STYLE",
    );
  }
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  const { AWS_SESSION_TOKEN: sessionToken } = env;
  const hasKeys = accessKeyId && secretAccessKey && !env.AWS_PROFILE;
  return {
    // Otherwise the SDK looks for both in the configuration files of AWS.
    ...(region === undefined ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint, region: region ?? "us-east-1" }),
    // Most servers other than AWS know no buckets in host names.
    forcePathStyle: style === "" ? endpoint !== undefined : style === "true",
    // Without keys in the environment, those that the chain of the SDK finds at its first use.
    credentials: hasKeys
      ? { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) }
      : defaultProvider(),
    maxAttempts: attempts,
    retryMode: "standard",
    // The agent of a request that waits for a 100 is not ours.
    expectContinueHeader: false,
    // Reads compare ranges and entity tags instead, and have no checksum of a range.
    responseChecksumValidation: "WHEN_REQUIRED",
  };
}

function unfit(message: string, path: string): MucastError {
  const advice = "give AWS_REGION, or AWS_ENDPOINT_URL for a server other than AWS";
  return new MucastError("invalid_request", `${message}; ${advice}`, { path });
}
