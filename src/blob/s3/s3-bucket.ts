import { isIP } from "node:net";
import { GetObjectCommand, HeadBucketCommand, S3Client, type S3ClientConfig } from "@aws-sdk/client-s3";
import { defaultProvider } from "@aws-sdk/credential-provider-node";
import { MucastError } from "../../contract/errors/errors.ts";
import { canceled } from "../blob-errors.ts";
import { addressRule } from "../location.ts";
import { type BlobPolicy, spellingFault, type TransferLimits, withoutBrackets } from "../policy.ts";
import { type AddressRule, guardedAgent, isAllowedAddress, notPublic } from "../remote/addresses.ts";
import { failureOf, isTrustFailure } from "../remote/remote-request.ts";
import { failed, Refusal, type RequestContext } from "../remote/storage-request.ts";
import { s3PlaceOf } from "./s3-url.ts";

export interface S3Options {
  readonly policy: BlobPolicy;
  readonly limits: TransferLimits;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly ca: string | undefined;
}

export type S3Send<T> = (client: S3Client, options: { abortSignal: AbortSignal }) => Promise<T>;

/** What reading of a blob needs: `openRemoteBlob` sends the requests. */
interface ReadAccess {
  readonly url: URL;
  readonly authorize: () => Promise<Readonly<Record<string, string>>>;
  readonly addresses: AddressRule;
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

/** A bucket and its credentials; the SDK sends, signs and retries the requests. */
export class S3Bucket {
  /** `s3://bucket[/folder]`. */
  readonly url: string;
  readonly bucket: string;
  readonly options: S3Options;
  readonly #folder: string;
  readonly #addresses: AddressRule;
  readonly #client: S3Client;

  private constructor(url: string, options: S3Options, client: S3Client, addresses: AddressRule) {
    this.url = url;
    this.options = options;
    this.#client = client;
    this.#addresses = addresses;
    ({ bucket: this.bucket, folder: this.#folder } = s3PlaceOf(url));
  }

  /**
   * Sends no request. @param url without a fault.
   * @throws MucastError invalid_request without a region or for an unusual endpoint, url_not_allowed for an endpoint's private address.
   */
  static async open(url: string, options: S3Options): Promise<S3Bucket> {
    const config = configOf(options);
    const origin = await originOf(config, s3PlaceOf(url).bucket);
    const fault = spellingFault(origin.origin, options.policy.privateOrigins);
    if (fault !== undefined) throw unfit(`the endpoint ${origin.origin} ${fault}`, "AWS_ENDPOINT_URL");
    const addresses = addressRule(origin, options.policy);
    const host = withoutBrackets(origin.hostname);
    if (isIP(host) !== 0 && !isAllowedAddress(host, addresses)) throw notPublic(origin.origin, addresses);
    const { limits, ca } = options;
    const agent = guardedAgent(origin.origin, addresses, { ca });
    const requestHandler = {
      ...(origin.protocol === "http:" ? { httpAgent: agent } : { httpsAgent: agent }),
      connectionTimeout: limits.connectMs,
      socketTimeout: limits.idleMs,
    };
    return new S3Bucket(url, options, new S3Client({ ...config, requestHandler }), addresses);
  }

  close(): void {
    this.#client.destroy();
  }

  /** The key in the bucket of a name relative to the folder. */
  place(name: string): { Bucket: string; Key: string } {
    return { Bucket: this.bucket, Key: this.#folder === "" ? name : `${this.#folder}/${name}` };
  }

  /** How to read a blob without the SDK: each request gets a new signature, because credentials may expire meanwhile. */
  async readAccess(name: string, context: RequestContext): Promise<ReadAccess> {
    const sign = () => this.#signedGet(name, context);
    const first = await sign();
    return { url: urlOf(first), authorize: async () => (await sign()).headers, addresses: this.#addresses };
  }

  async #signedGet(name: string, context: RequestContext): Promise<BuiltRequest> {
    const command = new GetObjectCommand(this.place(name));
    let signed: BuiltRequest | undefined;
    command.middlewareStack.add(
      () => async (args) => {
        signed = args.request as BuiltRequest;
        return { response: {}, output: { $metadata: {} } };
      },
      // The first step after the signature.
      { step: "deserialize", priority: "high", name: "mucastSignedGet" },
    );
    await this.request(context, (client, options) => client.send(command, options));
    return signed!;
  }

  /** @throws MucastError if the bucket does not exist. */
  async checkBucket(context: RequestContext): Promise<void> {
    try {
      await this.request(context, (client, options) =>
        client.send(new HeadBucketCommand({ Bucket: this.bucket }), options),
      );
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const missing = `there is no bucket ${this.bucket} (404)`;
      throw failed(context, error.status === 404 ? missing : error.message);
    }
  }

  /**
   * One request, which the SDK retries while its failures may pass.
   * @throws Refusal if the storage refuses; MucastError blob_unavailable (reading) or output_failed (writing), canceled.
   */
  async request<T>(context: RequestContext, send: S3Send<T>): Promise<T> {
    const signal = context.signal ?? new AbortController().signal;
    try {
      return await send(this.#client, { abortSignal: signal });
    } catch (error) {
      if (signal.aborted) throw canceled(signal, context.doing, context.name);
      throw failureIn(context, error);
    }
  }
}

function configOf({ env, limits }: S3Options): S3ClientConfig {
  const endpoint = env.AWS_ENDPOINT_URL_S3?.trim() || env.AWS_ENDPOINT_URL?.trim() || undefined;
  const region = env.AWS_REGION?.trim() || env.AWS_DEFAULT_REGION?.trim() || undefined;
  return {
    // Otherwise the SDK looks for both in the configuration files of AWS.
    ...(region === undefined ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint, region: region ?? "us-east-1" }),
    forcePathStyle: isPathStyle(env, endpoint),
    credentials: credentialsOf(env),
    maxAttempts: limits.attempts,
    retryMode: "standard",
    // The agent of a request that waits for a 100 is not ours.
    expectContinueHeader: false,
    // Reads compare ranges and entity tags instead, and have no checksum of a range.
    responseChecksumValidation: "WHEN_REQUIRED",
  };
}

/** Most servers other than AWS know no buckets in host names. */
function isPathStyle({ MUCAST_S3_PATH_STYLE }: S3Options["env"], endpoint: string | undefined): boolean {
  const text = MUCAST_S3_PATH_STYLE?.trim().toLowerCase() ?? "";
  if (text === "") return endpoint !== undefined;
  if (text === "true" || text === "false") return text === "true";
  throw unfit(`MUCAST_S3_PATH_STYLE must be true or false, got ${text.slice(0, 20)}`, "MUCAST_S3_PATH_STYLE");
}

/** The keys in the environment, else what the chain of the SDK finds at its first use. */
function credentialsOf(env: S3Options["env"]): NonNullable<S3ClientConfig["credentials"]> {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (!accessKeyId || !secretAccessKey || env.AWS_PROFILE) return defaultProvider();
  const { AWS_SESSION_TOKEN: sessionToken } = env;
  return { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) };
}

/** The origin that the requests for a bucket go to. @throws MucastError invalid_request without a region. */
async function originOf(config: S3ClientConfig, bucket: string): Promise<URL> {
  // With credentials of its own, the SDK does not look for any yet.
  const client = new S3Client({ ...config, credentials: { accessKeyId: "none", secretAccessKey: "none" } });
  const command = new GetObjectCommand({ Bucket: bucket, Key: "data" });
  let built: BuiltRequest | undefined;
  command.middlewareStack.add(
    () => async (args) => {
      built = args.request as BuiltRequest;
      return { response: {}, output: { $metadata: {} } };
    },
    { step: "build", priority: "high", name: "mucastOrigin" },
  );
  try {
    await client.send(command);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw unfit(`BLOB_URL names a bucket of S3, but its endpoint is unknown: ${reason}`, "AWS_REGION");
  } finally {
    client.destroy();
  }
  return new URL(urlOf(built!).origin);
}

function urlOf({ protocol, hostname, port, path, query = {} }: BuiltRequest): URL {
  const url = new URL(`${protocol}//${hostname}${port === undefined ? "" : `:${port}`}${path}`);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

/** What `request` throws for an error of the SDK. */
function failureIn(context: RequestContext, error: unknown): Error {
  if (error instanceof MucastError) return error;
  const { name = "", $metadata: { httpStatusCode: status, attempts = 1 } = {} } = error as SdkFailure;
  const note = attempts > 1 ? ` (tried ${attempts} times)` : "";
  if (status !== undefined && status >= 300 && status < 400) return redirected(context.name);
  if (status !== undefined) {
    const refusal = new Refusal(status, name === "Unknown" ? "" : name);
    return status === 429 || status >= 500 ? failed(context, `${refusal.message}${note}`) : refusal;
  }
  if (name === "CredentialsProviderError") return failed(context, NO_CREDENTIALS);
  if (name === "TimeoutError" && !("code" in (error as object))) {
    return failed(context, `no answer in time${note}`);
  }
  return failed(context, `${failureOf(error)}${isTrustFailure(error) ? "" : note}`);
}

interface SdkFailure {
  readonly name?: string;
  readonly $metadata?: { readonly httpStatusCode?: number; readonly attempts?: number };
}

/** Without the message of the provider's error, which may contain a secret. */
const NO_CREDENTIALS =
  "no credentials for S3 were found; give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile or role that the AWS SDK finds";

function redirected(name: string): MucastError {
  const message = `${name} answers with a redirect, and redirects are not followed; set AWS_REGION to the region of the bucket`;
  return new MucastError("url_not_allowed", message, { source: name });
}

function unfit(message: string, path: string): MucastError {
  const advice = "give AWS_REGION, or AWS_ENDPOINT_URL for a server other than AWS";
  return new MucastError("invalid_request", `${message}; ${advice}`, { path });
}
