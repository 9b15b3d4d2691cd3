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

interface SettingNames {
  /** MUCAST_ and the key in capitals, unless it is named here. */
  readonly env?: string | undefined;
  readonly flag?: string;
  /** Never displayed or logged. */
  readonly secret?: true;
  /** Describes what is wrong with a malformed value. For values that can contain a secret, which the text must omit. */
  readonly fault?: (text: string) => string | undefined;
  /** A limit that callers can reach; the page at /docs lists it. */
  readonly limit?: LimitUnit;
}

export const settingNames = z.registry<SettingNames>();

const GIB = 2 ** 30;

function setting<T extends z.ZodType>(about: string, schema: T, names: SettingNames = {}): T {
  const described = schema.describe(about);
  settingNames.add(described, names);
  return described;
}

const stringList = z
  .preprocess(
    (value) => (typeof value === "string" ? value.split(/[\s,]+/).filter((word) => word !== "") : value),
    z.array(z.string()),
  )
  .default([]);

function count(least: number, most: number) {
  return z.coerce.number().int().min(least).max(most);
}

const flag = z.preprocess(
  (value) => (value === "true" ? true : value === "false" ? false : value),
  z.boolean(),
);

const postgresUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, "must begin with postgresql://")
  .optional();

const webhookSchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9-]{1,40}$/),
  url: z.url({ protocol: /^https?$/ }),
  /** `whsec_` and base64, as in Standard Webhooks. */
  secret: z
    .string()
    .regex(/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/, "must be whsec_ and the base64 of 24 bytes or more"),
  types: z.array(z.enum(EVENT_TYPES)).min(1).default(["succeeded", "failed", "canceled"]),
});

export type WebhookTarget = z.infer<typeof webhookSchema>;

/**
 * Every setting of `mucast serve`. A flag takes precedence over the environment, and the environment over the settings file.
 * docs/configuration.md is generated from this schema.
 */
export const settingsSchema = z.strictObject({
  host: setting(
    "Address to listen on. Any but a loopback address needs `auth`.",
    z.string().default("127.0.0.1"),
    { flag: "--host" },
  ),
  port: setting("Port to listen on; 0 chooses a free port.", count(0, 65_535).default(8080), {
    flag: "--port",
  }),
  data_dir: setting(
    "Folder of the embedded database and, by default, of the blobs. Default: `mucast` in the user's data folder.",
    z.string().min(1).optional(),
    { flag: "--data-dir" },
  ),
  public_url: setting(
    "URL at which callers reach the service, if it differs from its address. Used in `Operation-Location` and in the URLs of outputs.",
    z
      .url({ protocol: /^https?$/ })
      .refine(
        (text) => !/^\w+:\/\/[^/]*@|[?#]/.test(text),
        "must have no user name, query string or fragment",
      )
      .optional(),
    { flag: "--public-url" },
  ),
  allowed_hosts: setting(
    "Additional names that are accepted in a request's Host header, with the port unless it is the default. Loopback names, with any port, and the name in `public_url` are always accepted.",
    stringList,
  ),
  trusted_proxies: setting(
    "Addresses or networks (CIDR) of proxies whose X-Forwarded-For and X-Forwarded-Proto headers are believed, such as 127.0.0.1. Without it, all callers behind a proxy share its address.",
    stringList,
  ),
  allowed_origins: setting("Origins of web pages that may call the service.", stringList),
  blob_url: setting(
    "Where blobs are stored: a folder, an Azure container as https://<account>.blob.core.windows.net/<container>, or a bucket of S3 as s3://<bucket>. Default: `blobs` in `data_dir`.",
    z.string().min(1).optional(),
    { env: "BLOB_URL" },
  ),
  allowed_blob_urls: setting(
    "https URLs of the containers, and s3: URLs of the buckets, from which inputs may be read. Default: `blob_url`, if it is an https or s3: URL.",
    stringList,
  ),
  private_origins: setting(
    "Allowed origins that may resolve to private or loopback addresses. A loopback origin may use http.",
    stringList,
  ),
  blob_tickers: setting(
    "Maximum number of tickers in an input blob (`too_large`).",
    count(BLOB_BOUNDS.tickers.least, BLOB_BOUNDS.tickers.most).default(BLOB_BOUNDS.tickers.byDefault),
    { limit: "count" },
  ),
  blob_name_bytes: setting(
    "Maximum size of all names in an input blob, in bytes of UTF-8: every ticker, and every column once (`too_large`).",
    count(BLOB_BOUNDS.nameBytes.least, BLOB_BOUNDS.nameBytes.most).default(BLOB_BOUNDS.nameBytes.byDefault),
    { limit: "bytes" },
  ),
  database_url: setting(
    "PostgreSQL 14 or later, shared by services. Default: the SQLite file `mucast.db` in `data_dir`.",
    postgresUrl,
    { env: "DATABASE_URL", secret: true },
  ),
  database_listen_url: setting(
    "Direct URL for notifications, if `database_url` is a pooler's. Default: `database_url`.",
    postgresUrl,
    { env: "DATABASE_LISTEN_URL", secret: true },
  ),
  database_connections: setting(
    "Maximum number of connections to PostgreSQL, besides the one that listens.",
    count(1, 100).default(10),
  ),
  retention_days: setting(
    "Number of days for which ended operations, their events and idempotency keys are kept. Outputs are never removed.",
    count(1, 3650).default(30),
    { limit: "days" },
  ),
  events_kept: setting(
    "Maximum number of events kept per operation. Older progress is removed first, then the oldest other events. The same number of `epochs` is kept separately.",
    count(10, 100_000).default(1_000),
    { limit: "count" },
  ),
  auth: setting(
    "How callers authenticate. `none` is allowed only on a loopback address.",
    z.enum(["none", "keys", "oidc"]).default("none"),
  ),
  oidc_issuer: setting(
    "Issuer of the tokens. Its keys are found by OpenID discovery, unless `oidc_jwks_url` is set.",
    z.url({ protocol: /^https?$/ }).optional(),
  ),
  oidc_audience: setting("Value that the `aud` of a token must contain.", z.string().optional()),
  oidc_jwks_url: setting("URL of the issuer's public keys.", z.url({ protocol: /^https?$/ }).optional()),
  oidc_former_issuer: setting(
    "Former URL of the issuer that now has the URL `oidc_issuer`. With it, callers keep the operations and blobs that they had under the former URL.",
    z.url({ protocol: /^https?$/ }).optional(),
  ),
  oidc_keys_seconds: setting(
    "How long the service checks tokens with the issuer's last known keys while the issuer cannot be reached. A key that the issuer removes in that time can stay valid until the time has passed. With 600, the service accepts no token with keys that it fetched more than ten minutes ago.",
    count(600, 30 * 86_400).default(86_400),
  ),
  oidc_read_scope: setting(
    "Scope (or role) of a token that may read operations and blobs.",
    z.string().default("mucast.read"),
  ),
  oidc_write_scope: setting(
    "Scope (or role) of a token that may submit, cancel and upload.",
    z.string().default("mucast.write"),
  ),
  executor: setting(
    "Where jobs run: child processes of the service, or Azure Container Apps jobs.",
    z.enum(["process", "container-apps"]).default("process"),
  ),
  azure_subscription: setting("Subscription of the Container Apps jobs.", z.string().optional()),
  azure_resource_group: setting(
    "Resource group of the Container Apps jobs `ml-worker-job` and `dl-job`.",
    z.string().optional(),
  ),
  engine: setting(
    "Ray cluster that jobs compute on, as ray://<host>:<port>; this machine by default. Its token comes from `RAY_AUTH_TOKEN` or `RAY_AUTH_TOKEN_PATH`.",
    z
      .string()
      .refine((text) => engineUrlFault(text) === undefined)
      .optional(),
    { env: ENGINE_VARIABLES.url, flag: "--engine", fault: engineUrlFault },
  ),
  engine_insecure: setting(
    "Whether a cluster on a loopback address may be used without a token.",
    flag.default(false),
    { env: ENGINE_VARIABLES.insecure, flag: "--engine-insecure" },
  ),
  cores: setting(
    "Cores that the fits of all running jobs may use together on this machine. Running jobs share them evenly, so a job alone has all of them. In addition, the Node process of each job, which reads and writes, uses up to one core.",
    count(1, 1_024).default(availableParallelism()).meta({ shownDefault: "all of the machine" }),
  ),
  concurrent_jobs: setting(
    "Maximum number of jobs that this service runs at the same time; on this machine, never more than `cores`.",
    count(1, 1_000).default(2),
  ),
  memory_bytes: setting(
    "Memory that all running jobs may use together on this machine, including all their processes and the process that waits for a job. A single job may use all of it. If it is exceeded, waiting processes end first, then the job furthest above its equal share (`out_of_memory`).",
    count(16 * 2 ** 20, 2 ** 50)
      .default(defaultMemoryBytes())
      .meta({ shownDefault: "80 % of the machine's or the container's memory" }),
  ),
  work_bytes: setting(
    "Disk space that the temporary files of all running jobs may take together on this machine, under `TMPDIR`. If it is exceeded, the job whose files take the most ends (`output_failed`).",
    count(2 ** 20, 2 ** 50)
      .optional()
      .meta({ shownDefault: "80 % of the space that would be free without these files" }),
  ),
  job_seconds: setting(
    "Maximum duration of an attempt at a job (`timed_out`).",
    count(1, 7 * 86_400).default(12 * 3_600),
    { limit: "seconds" },
  ),
  drain_seconds: setting(
    "How long running jobs may continue after SIGTERM before the service releases them to the queue. Allow 15 s more than this before the service is killed (`--stop-timeout`, `TimeoutStopSec`, `terminationGracePeriodSeconds`); the default fits 10 s.",
    count(0, 3_600)
      // Together with the 5 s in which a job process ends, it fits the 10 s that container engines allow by default.
      .default(3),
  ),
  body_bytes: setting(
    "Maximum size of a request body, except for uploads.",
    count(1_024, 16 * 2 ** 20).default(256 * 1_024),
    { limit: "bytes" },
  ),
  upload_bytes: setting("Maximum size of an uploaded blob.", count(1, 1_024 * GIB).default(16 * GIB), {
    limit: "bytes",
  }),
  prepare_bytes: setting(
    "Maximum size of a body of `POST /v1/prepare` as sent, and of each of its files decompressed.",
    count(1, 2 ** 30).default(16 * 2 ** 20),
    { limit: "bytes" },
  ),
  stored_bytes_per_caller: setting(
    "Maximum size of all stored uploads and outputs of one caller (`quota_exceeded`). `DELETE /data/{name}` frees space.",
    count(1, 2 ** 50).default(2 ** 40),
    { limit: "bytes" },
  ),
  stored_blobs_per_caller: setting(
    "Maximum number of stored blobs of one caller (`quota_exceeded`).",
    count(1, 100_000_000).default(1_000_000),
    { limit: "count" },
  ),
  connections: setting(
    "Maximum number of open connections. Beyond it, the service closes those that are idle, and new ones without an answer. Each connection needs two file descriptors (`ulimit -n`), in addition to those of the rest of the service.",
    count(16, 1_000_000).optional().meta({ shownDefault: "half of the free descriptors, 10000 at most" }),
  ),
  downloads: setting(
    "Maximum number of concurrent downloads of blobs, over all callers.",
    count(1, 1_000_000).default(1_000),
    { limit: "count" },
  ),
  downloads_per_caller: setting(
    "Maximum number of concurrent downloads of blobs per caller.",
    count(1, 1_000_000).default(200),
    { limit: "count" },
  ),
  queued_per_caller: setting(
    "Maximum number of queued operations per caller.",
    count(1, 1_000_000).default(1_000),
    { limit: "count" },
  ),
  requests_per_minute: setting(
    "Maximum number of requests per minute from one caller, or from one address without credentials.",
    count(1, 10_000_000).default(6_000),
    { limit: "count" },
  ),
  failed_tries_per_minute: setting(
    "Maximum number of keys and tokens per minute from one address that are wrong, or that cannot be checked while the OIDC issuer is unavailable. Beyond it, credentials that were valid before are still checked.",
    count(1, 10_000_000).default(300),
    { limit: "count" },
  ),
  request_processes: setting(
    "Maximum number of processes that draw a report, prepare blobs or preview a job, each for one request. Further requests get 503.",
    count(1, 100).default(2),
  ),
  request_memory_bytes: setting(
    "Memory that each of these processes may use (`too_large`), in addition to `memory_bytes`.",
    count(128 * 2 ** 20, 2 ** 50)
      .default(defaultRequestMemoryBytes())
      .meta({ shownDefault: "a tenth of the machine's or the container's memory, 512 MiB to 2 GiB" }),
    { limit: "bytes" },
  ),
  request_seconds: setting(
    "Maximum duration of each of these processes (`timed_out`).",
    count(1, 3_600).default(120),
    { limit: "seconds" },
  ),
  report_cache_bytes: setting("Memory for caching reports.", count(0, 2 ** 40).default(64 * 2 ** 20)),
  mlflow_tracking_uri: setting(
    "MLflow server that records each job that succeeds, as an http or https URL ([tracking.md](tracking.md)).",
    z
      .string()
      .refine((text) => trackerUrlFault(text) === undefined)
      .optional(),
    { env: TRACKER_VARIABLES.url, fault: trackerUrlFault },
  ),
  mlflow_experiment: setting(
    "Experiment of the MLflow server; created if it does not exist.",
    z.string().max(MAX_EXPERIMENT_NAME).default(DEFAULT_EXPERIMENT),
    { env: TRACKER_VARIABLES.experiment },
  ),
  log_level: setting(
    "Minimum level of log lines, written as JSON to stderr.",
    z.enum(["trace", "debug", "info", "warn", "error"]).default("info"),
  ),
  webhooks: setting(
    "Receivers of events: name, url, secret, types. Only in the settings file.",
    z.array(webhookSchema).default([]),
    { env: undefined, secret: true },
  ),
});

for (const [key, schema] of Object.entries(settingsSchema.shape))
  settingNames.add(schema, { env: `MUCAST_${key.toUpperCase()}`, ...settingNames.get(schema) });

export type Settings = z.infer<typeof settingsSchema>;
