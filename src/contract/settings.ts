import { availableParallelism } from "node:os";
import { z } from "zod";
import { EVENT_TYPES } from "./api/stored-event.ts";
import { BLOB_BOUNDS } from "./blob-limits.ts";
import { ENGINE_VARIABLES, engineUrlFault } from "./engine-url.ts";
import { defaultMemoryBytes, defaultRequestMemoryBytes } from "./machine/machine-memory.ts";
import {
  DEFAULT_EXPERIMENT,
  MAX_EXPERIMENT_NAME,
  TRACKER_VARIABLES,
  trackerUrlFault,
} from "./tracker-url.ts";

export type LimitUnit = "bytes" | "seconds" | "days" | "count";

/** A setting's names beside its key in the settings file. */
interface SettingNames {
  readonly env?: string;
  readonly flag?: string;
  /** Never displayed or logged. */
  readonly secret?: true;
  /** Describes what is wrong with a malformed value. For values that can contain a secret, which the text must omit. */
  readonly fault?: (text: string) => string | undefined;
  /** A limit that callers can reach; the page at /docs lists it. */
  readonly limit?: LimitUnit;
}

/** The names of every setting. Its description is in its schema. */
export const settingNames = z.registry<SettingNames>();

const GIB = 2 ** 30;

function stringList(description: string) {
  return z
    .preprocess(
      (value) => (typeof value === "string" ? value.split(/[\s,]+/).filter((word) => word !== "") : value),
      z.array(z.string()),
    )
    .default([])
    .describe(description);
}

function count(least: number, most: number) {
  return z.coerce.number().int().min(least).max(most);
}

function isPlainUrl(text: string): boolean {
  const { username, password, search, hash } = new URL(text);
  return `${username}${password}${search}${hash}` === "";
}

const port = count(0, 65_535);

/** `true` and `false`, or these words in a variable. */
const flag = z.preprocess(
  (value) => (value === "true" ? true : value === "false" ? false : value),
  z.boolean(),
);

const postgresUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, "must begin with postgresql://")
  .optional();

/** A receiver of events, which only the operator can configure. */
const webhookSchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9-]{1,40}$/),
  url: z.url({ protocol: /^https?$/ }),
  /** `whsec_` and base64, in the format of Standard Webhooks. */
  secret: z
    .string()
    .regex(/^whsec_[A-Za-z0-9+/=]{32,}$/, "must be whsec_ and the base64 of 24 bytes or more"),
  types: z.array(z.enum(EVENT_TYPES)).min(1).default(["succeeded", "failed", "canceled"]),
});

export type WebhookTarget = z.infer<typeof webhookSchema>;

/**
 * Every setting of `mucast serve`. A flag takes precedence over the environment, and the environment over the settings file.
 * docs/configuration.md is generated from this schema.
 */
export const settingsSchema = z.strictObject({
  host: z
    .string()
    .default("127.0.0.1")
    .describe("Address to listen on. Any but a loopback address needs `auth`.")
    .register(settingNames, { env: "MUCAST_HOST", flag: "--host" }),
  port: port
    .default(8080)
    .describe("Port to listen on; 0 chooses a free port.")
    .register(settingNames, { env: "MUCAST_PORT", flag: "--port" }),
  data_dir: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Folder of the embedded database and, by default, of the blobs. Default: `mucast` in the user's data folder.",
    )
    .register(settingNames, { env: "MUCAST_DATA_DIR", flag: "--data-dir" }),
  public_url: z
    .url({ protocol: /^https?$/ })
    .refine(isPlainUrl, "must have no user name, query string or fragment")
    .optional()
    .describe(
      "URL at which callers reach the service, if it differs from its address. Used in `Operation-Location` and in the URLs of outputs.",
    )
    .register(settingNames, { env: "MUCAST_PUBLIC_URL", flag: "--public-url" }),
  allowed_hosts: stringList(
    "Additional names that are accepted in a request's Host header, with the port unless it is the default. Loopback names, with any port, and the name in `public_url` are always accepted.",
  ).register(settingNames, { env: "MUCAST_ALLOWED_HOSTS" }),
  trusted_proxies: stringList(
    "Addresses or networks (CIDR) of proxies whose X-Forwarded-For and X-Forwarded-Proto headers are believed, such as 127.0.0.1. Without it, all callers behind a proxy share its address.",
  ).register(settingNames, { env: "MUCAST_TRUSTED_PROXIES" }),
  allowed_origins: stringList("Origins of web pages that may call the service.").register(settingNames, {
    env: "MUCAST_ALLOWED_ORIGINS",
  }),

  blob_url: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Where blobs are stored: a folder, an Azure container as https://<account>.blob.core.windows.net/<container>, or a bucket of S3 as s3://<bucket>. Default: `blobs` in `data_dir`.",
    )
    .register(settingNames, { env: "BLOB_URL" }),
  allowed_blob_urls: stringList(
    "https URLs of the containers, and s3: URLs of the buckets, from which inputs may be read. Default: `blob_url`, if it is an https or s3: URL.",
  ).register(settingNames, { env: "MUCAST_ALLOWED_BLOB_URLS" }),
  private_origins: stringList(
    "Allowed origins that may resolve to private or loopback addresses. A loopback origin may use http.",
  ).register(settingNames, { env: "MUCAST_PRIVATE_ORIGINS" }),
  blob_tickers: count(BLOB_BOUNDS.tickers.least, BLOB_BOUNDS.tickers.most)
    .default(BLOB_BOUNDS.tickers.byDefault)
    .describe("Maximum number of tickers in an input blob (`too_large`).")
    .register(settingNames, { env: BLOB_BOUNDS.tickers.env, limit: "count" }),
  blob_name_bytes: count(BLOB_BOUNDS.nameBytes.least, BLOB_BOUNDS.nameBytes.most)
    .default(BLOB_BOUNDS.nameBytes.byDefault)
    .describe(
      "Maximum size of all names in an input blob, in bytes of UTF-8: every ticker, and every column once (`too_large`).",
    )
    .register(settingNames, { env: BLOB_BOUNDS.nameBytes.env, limit: "bytes" }),

  database_url: postgresUrl
    .describe(
      "PostgreSQL 14 or later, shared by services. Default: the SQLite file `mucast.db` in `data_dir`.",
    )
    .register(settingNames, { env: "DATABASE_URL", secret: true }),
  database_listen_url: postgresUrl
    .describe("Direct URL for notifications, if `database_url` is a pooler's. Default: `database_url`.")
    .register(settingNames, { env: "DATABASE_LISTEN_URL", secret: true }),
  database_connections: count(1, 100)
    .default(10)
    .describe("Maximum number of connections to PostgreSQL, besides the one that listens.")
    .register(settingNames, { env: "MUCAST_DATABASE_CONNECTIONS" }),
  retention_days: count(1, 3650)
    .default(30)
    .describe(
      "Number of days for which ended operations, their events and idempotency keys are kept. Outputs are never removed.",
    )
    .register(settingNames, { env: "MUCAST_RETENTION_DAYS", limit: "days" }),
  events_kept: count(10, 100_000)
    .default(1_000)
    .describe(
      "Maximum number of events kept per operation. Older progress is removed first, then the oldest other events. The same number of `epochs` is kept separately.",
    )
    .register(settingNames, { env: "MUCAST_EVENTS_KEPT", limit: "count" }),

  auth: z
    .enum(["none", "keys", "oidc"])
    .default("none")
    .describe("How callers authenticate. `none` is allowed only on a loopback address.")
    .register(settingNames, { env: "MUCAST_AUTH" }),
  oidc_issuer: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe("Issuer of the tokens. Its keys are found by OpenID discovery, unless `oidc_jwks_url` is set.")
    .register(settingNames, { env: "MUCAST_OIDC_ISSUER" }),
  oidc_audience: z
    .string()
    .optional()
    .describe("Value that the `aud` of a token must contain.")
    .register(settingNames, { env: "MUCAST_OIDC_AUDIENCE" }),
  oidc_jwks_url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe("URL of the issuer's public keys.")
    .register(settingNames, { env: "MUCAST_OIDC_JWKS_URL" }),
  oidc_former_issuer: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      "Former URL of the issuer that now has the URL `oidc_issuer`. With it, callers keep the operations and blobs that they had under the former URL.",
    )
    .register(settingNames, { env: "MUCAST_OIDC_FORMER_ISSUER" }),
  oidc_keys_seconds: count(600, 30 * 86_400)
    .default(86_400)
    .describe(
      "How long the service checks tokens with the issuer's last known keys while the issuer cannot be reached. A key that the issuer removes in that time can stay valid until the time has passed. With 600, the service accepts no token with keys that it fetched more than ten minutes ago.",
    )
    .register(settingNames, { env: "MUCAST_OIDC_KEYS_SECONDS" }),
  oidc_read_scope: z
    .string()
    .default("mucast.read")
    .describe("Scope (or role) of a token that may read operations and blobs.")
    .register(settingNames, { env: "MUCAST_OIDC_READ_SCOPE" }),
  oidc_write_scope: z
    .string()
    .default("mucast.write")
    .describe("Scope (or role) of a token that may submit, cancel and upload.")
    .register(settingNames, { env: "MUCAST_OIDC_WRITE_SCOPE" }),

  executor: z
    .enum(["process", "container-apps"])
    .default("process")
    .describe("Where jobs run: child processes of the service, or Azure Container Apps jobs.")
    .register(settingNames, { env: "MUCAST_EXECUTOR" }),
  azure_subscription: z
    .string()
    .optional()
    .describe("Subscription of the Container Apps jobs.")
    .register(settingNames, { env: "MUCAST_AZURE_SUBSCRIPTION" }),
  azure_resource_group: z
    .string()
    .optional()
    .describe("Resource group of the Container Apps jobs `ml-worker-job` and `dl-job`.")
    .register(settingNames, { env: "MUCAST_AZURE_RESOURCE_GROUP" }),
  engine: z
    .string()
    .refine((text) => engineUrlFault(text) === undefined)
    .optional()
    .describe(
      "Ray cluster that jobs compute on, as ray://<host>:<port>; this machine by default. Its token comes from `RAY_AUTH_TOKEN` or `RAY_AUTH_TOKEN_PATH`.",
    )
    .register(settingNames, { env: ENGINE_VARIABLES.url, flag: "--engine", fault: engineUrlFault }),
  engine_insecure: flag
    .default(false)
    .describe("Whether a cluster on a loopback address may be used without a token.")
    .register(settingNames, { env: ENGINE_VARIABLES.insecure, flag: "--engine-insecure" }),
  cores: count(1, 1_024)
    .default(availableParallelism())
    .meta({ shownDefault: "all of the machine" })
    .describe(
      "Cores that the fits of all running jobs may use together on this machine. Running jobs share them evenly, so a job alone has all of them. In addition, the Node process of each job, which reads and writes, uses up to one core.",
    )
    .register(settingNames, { env: "MUCAST_CORES" }),
  concurrent_jobs: count(1, 1_000)
    .default(2)
    .describe(
      "Maximum number of jobs that this service runs at the same time; on this machine, never more than `cores`.",
    )
    .register(settingNames, { env: "MUCAST_CONCURRENT_JOBS" }),
  memory_bytes: count(16 * 2 ** 20, 2 ** 50)
    .default(defaultMemoryBytes())
    .meta({ shownDefault: "80 % of the machine's or the container's memory" })
    .describe(
      "Memory that all running jobs may use together on this machine, including all their processes and the process that waits for a job. A single job may use all of it. If it is exceeded, waiting processes end first, then the job furthest above its equal share (`out_of_memory`).",
    )
    .register(settingNames, { env: "MUCAST_MEMORY_BYTES" }),
  work_bytes: count(2 ** 20, 2 ** 50)
    .optional()
    .meta({ shownDefault: "80 % of the space that would be free without these files" })
    .describe(
      "Disk space that the temporary files of all running jobs may take together on this machine, under `TMPDIR`. If it is exceeded, the job whose files take the most ends (`output_failed`).",
    )
    .register(settingNames, { env: "MUCAST_WORK_BYTES" }),
  job_seconds: count(1, 7 * 86_400)
    .default(12 * 3_600)
    .describe("Maximum duration of an attempt at a job (`timed_out`).")
    .register(settingNames, { env: "MUCAST_JOB_SECONDS", limit: "seconds" }),
  drain_seconds: count(0, 3_600)
    // Together with the 5 s in which a job process ends, it fits the 10 s that container engines allow by default.
    .default(3)
    .describe(
      "How long running jobs may continue after SIGTERM before the service releases them to the queue. Allow 15 s more than this before the service is killed (`--stop-timeout`, `TimeoutStopSec`, `terminationGracePeriodSeconds`); the default fits 10 s.",
    )
    .register(settingNames, { env: "MUCAST_DRAIN_SECONDS" }),

  body_bytes: count(1_024, 16 * 2 ** 20)
    .default(256 * 1_024)
    .describe("Maximum size of a request body, except for uploads.")
    .register(settingNames, { env: "MUCAST_BODY_BYTES", limit: "bytes" }),
  upload_bytes: count(1, 1_024 * GIB)
    .default(16 * GIB)
    .describe("Maximum size of an uploaded blob.")
    .register(settingNames, { env: "MUCAST_UPLOAD_BYTES", limit: "bytes" }),
  prepare_bytes: count(1, 2 ** 30)
    .default(16 * 2 ** 20)
    .describe("Maximum size of a body of `POST /v1/prepare` as sent, and of each of its files decompressed.")
    .register(settingNames, { env: "MUCAST_PREPARE_BYTES", limit: "bytes" }),
  stored_bytes_per_caller: count(1, 2 ** 50)
    .default(2 ** 40)
    .describe(
      "Maximum size of all stored uploads and outputs of one caller (`quota_exceeded`). `DELETE /data/{name}` frees space.",
    )
    .register(settingNames, { env: "MUCAST_STORED_BYTES_PER_CALLER", limit: "bytes" }),
  stored_blobs_per_caller: count(1, 100_000_000)
    .default(1_000_000)
    .describe("Maximum number of stored blobs of one caller (`quota_exceeded`).")
    .register(settingNames, { env: "MUCAST_STORED_BLOBS_PER_CALLER", limit: "count" }),
  connections: count(16, 1_000_000)
    .optional()
    .meta({ shownDefault: "half of the free descriptors, 10000 at most" })
    .describe(
      "Maximum number of open connections. Beyond it, the service closes those that are idle, and new ones without an answer. Each connection needs two file descriptors (`ulimit -n`), in addition to those of the rest of the service.",
    )
    .register(settingNames, { env: "MUCAST_CONNECTIONS" }),
  downloads: count(1, 1_000_000)
    .default(1_000)
    .describe("Maximum number of concurrent downloads of blobs, over all callers.")
    .register(settingNames, { env: "MUCAST_DOWNLOADS", limit: "count" }),
  downloads_per_caller: count(1, 1_000_000)
    .default(200)
    .describe("Maximum number of concurrent downloads of blobs per caller.")
    .register(settingNames, { env: "MUCAST_DOWNLOADS_PER_CALLER", limit: "count" }),
  queued_per_caller: count(1, 1_000_000)
    .default(1_000)
    .describe("Maximum number of queued operations per caller.")
    .register(settingNames, { env: "MUCAST_QUEUED_PER_CALLER", limit: "count" }),
  requests_per_minute: count(1, 10_000_000)
    .default(6_000)
    .describe(
      "Maximum number of requests per minute from one caller, or from one address without credentials.",
    )
    .register(settingNames, { env: "MUCAST_REQUESTS_PER_MINUTE", limit: "count" }),
  failed_tries_per_minute: count(1, 10_000_000)
    .default(300)
    .describe(
      "Maximum number of keys and tokens per minute from one address that are wrong, or that cannot be checked while the OIDC issuer is unavailable. Beyond it, credentials that were valid before are still checked.",
    )
    .register(settingNames, { env: "MUCAST_FAILED_TRIES_PER_MINUTE", limit: "count" }),

  request_processes: count(1, 100)
    .default(2)
    .describe(
      "Maximum number of processes that draw a report or prepare blobs, each for one request. Further requests get 503.",
    )
    .register(settingNames, { env: "MUCAST_REQUEST_PROCESSES" }),
  request_memory_bytes: count(128 * 2 ** 20, 2 ** 50)
    .default(defaultRequestMemoryBytes())
    .meta({ shownDefault: "a tenth of the machine's or the container's memory, 512 MiB to 2 GiB" })
    .describe("Memory that each of these processes may use (`too_large`), in addition to `memory_bytes`.")
    .register(settingNames, { env: "MUCAST_REQUEST_MEMORY_BYTES", limit: "bytes" }),
  request_seconds: count(1, 3_600)
    .default(120)
    .describe("Maximum duration of each of these processes (`timed_out`).")
    .register(settingNames, { env: "MUCAST_REQUEST_SECONDS", limit: "seconds" }),
  report_cache_bytes: count(0, 2 ** 40)
    .default(64 * 2 ** 20)
    .describe("Memory for caching reports.")
    .register(settingNames, { env: "MUCAST_REPORT_CACHE_BYTES" }),

  mlflow_tracking_uri: z
    .string()
    .refine((text) => trackerUrlFault(text) === undefined)
    .optional()
    .describe(
      "MLflow server that records each job that succeeds, as an http or https URL ([tracking.md](tracking.md)).",
    )
    .register(settingNames, { env: TRACKER_VARIABLES.url, fault: trackerUrlFault }),
  mlflow_experiment: z
    .string()
    .max(MAX_EXPERIMENT_NAME)
    .default(DEFAULT_EXPERIMENT)
    .describe("Experiment of the MLflow server; created if it does not exist.")
    .register(settingNames, { env: TRACKER_VARIABLES.experiment }),

  log_level: z
    .enum(["trace", "debug", "info", "warn", "error"])
    .default("info")
    .describe("Minimum level of log lines, written as JSON to stderr.")
    .register(settingNames, { env: "MUCAST_LOG_LEVEL" }),
  webhooks: z
    .array(webhookSchema)
    .default([])
    .describe("Receivers of events: name, url, secret, types. Only in the settings file.")
    .register(settingNames, { secret: true }),
});

export type Settings = z.infer<typeof settingsSchema>;
