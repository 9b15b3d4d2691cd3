import { availableParallelism } from "node:os";
import { z } from "zod";
import { EVENT_TYPES } from "./api/stored-event.ts";
import { BLOB_BOUNDS } from "./blob-limits.ts";
import { ENGINE_VARIABLES, engineUrlFault } from "./engine-url.ts";
import { defaultMemoryBytes, defaultRequestMemoryBytes } from "./machine/machine-memory.ts";
import * as s from "./schema/open-schema.ts";
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
  readonly secret?: true;
  /** Says what is wrong with a malformed value without its secrets. */
  readonly fault?: (text: string) => string | undefined;
  /** A limit that callers can reach; the page at /docs lists it. */
  readonly limit?: LimitUnit;
}

export const settingNames = z.registry<SettingNames>();

const GIB = 2 ** 30;

/** Describing the copy keeps the names. */
function setting<T extends z.ZodType>(schema: T, names: SettingNames = {}): T {
  const copy = schema.clone() as T;
  settingNames.add(copy, names);
  return copy;
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

const postgresUrl = s.optional(z.string().regex(/^postgres(ql)?:\/\//, "must begin with postgresql://"));

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
 * Every setting of `mucast serve`: a flag comes before the environment, and that before the settings file. Source of docs/configuration.md.
 */
export const settingsSchema = z.strictObject({
  host: setting(z.string().default("127.0.0.1"), { flag: "--host" }).describe(
    "Address to listen on. Any but a loopback address needs `auth`.",
  ),
  port: setting(count(0, 65_535).default(8080), {
    flag: "--port",
  }).describe("Port to listen on; 0 chooses a free port."),
  data_dir: setting(z.string().min(1).optional(), { flag: "--data-dir" }).describe(
    "Folder of the embedded database and, by default, of the blobs. Default: `mucast` in the user's data folder.",
  ),
  public_url: setting(
    s
      .optional(
        z
          .url({ protocol: /^https?$/ })
          .refine(
            (text) => !/^\w+:\/\/[^/]*@|[?#]/.test(text),
            "must have no user name, query string or fragment",
          ),
      )
      .describe(
        "URL at which callers reach the service, if it differs from its address. Used in `Operation-Location` and in the URLs of outputs.",
      ),
    { flag: "--public-url" },
  ),
  allowed_hosts: setting(stringList).describe(
    "Additional names that are accepted in a request's Host header, with the port unless it is the default. Loopback names, with any port, and the name in `public_url` are always accepted.",
  ),
  trusted_proxies: setting(stringList).describe(
    "Addresses or networks (CIDR) of proxies whose X-Forwarded-For and X-Forwarded-Proto headers are believed, such as 127.0.0.1. Without it, all callers behind a proxy share its address.",
  ),
  allowed_origins: setting(stringList).describe("Origins of web pages that may call the service."),
  blob_url: setting(z.string().min(1).optional(), { env: "BLOB_URL" }).describe(
    "Where blobs are stored: a folder, an Azure container as https://<account>.blob.core.windows.net/<container>, or a bucket of S3 as s3://<bucket>. Default: `blobs` in `data_dir`.",
  ),
  allowed_blob_urls: setting(stringList).describe(
    "https URLs of the containers, and s3: URLs of the buckets, from which inputs may be read. Default: `blob_url`, if it is an https or s3: URL.",
  ),
  private_origins: setting(stringList).describe(
    "Allowed origins that may resolve to private or loopback addresses. A loopback origin may use http.",
  ),
  blob_tickers: setting(
    count(BLOB_BOUNDS.tickers.least, BLOB_BOUNDS.tickers.most).default(BLOB_BOUNDS.tickers.byDefault),
    { limit: "count" },
  ).describe("Maximum number of tickers in an input blob (`too_large`)."),
  blob_name_bytes: setting(
    count(BLOB_BOUNDS.nameBytes.least, BLOB_BOUNDS.nameBytes.most).default(BLOB_BOUNDS.nameBytes.byDefault),
    { limit: "bytes" },
  ).describe(
    "Maximum size of all names in an input blob, in bytes of UTF-8: every ticker, and every column once (`too_large`).",
  ),
  database_url: setting(postgresUrl, { env: "DATABASE_URL", secret: true }).describe(
    "PostgreSQL 14 or later, shared by services. Default: the SQLite file `mucast.db` in `data_dir`.",
  ),
  database_listen_url: setting(postgresUrl, { env: "DATABASE_LISTEN_URL", secret: true }).describe(
    "Direct URL for notifications, if `database_url` is a pooler's. Default: `database_url`.",
  ),
  database_connections: setting(count(1, 100).default(10)).describe(
    "Maximum number of connections to PostgreSQL, besides the one that listens.",
  ),
  retention_days: setting(count(1, 3650).default(30), { limit: "days" }).describe(
    "Number of days for which ended operations, their events and idempotency keys are kept. Outputs are never removed.",
  ),
  events_kept: setting(count(10, 100_000).default(1_000), { limit: "count" }).describe(
    "Maximum number of events kept per operation. Older progress is removed first, then the oldest other events. The same number of `epochs` is kept separately.",
  ),
  auth: setting(z.enum(["none", "keys", "oidc"]).default("none")).describe(
    "How callers authenticate. `none` is allowed only on a loopback address.",
  ),
  oidc_issuer: setting(z.url({ protocol: /^https?$/ }).optional()).describe(
    "Issuer of the tokens. Its keys are found by OpenID discovery, unless `oidc_jwks_url` is set.",
  ),
  oidc_audience: setting(z.string().optional()).describe("Value that the `aud` of a token must contain."),
  oidc_jwks_url: setting(z.url({ protocol: /^https?$/ }).optional()).describe(
    "URL of the issuer's public keys.",
  ),
  oidc_former_issuer: setting(z.url({ protocol: /^https?$/ }).optional()).describe(
    "Former URL of the issuer that now has the URL `oidc_issuer`. With it, callers keep the operations and blobs that they had under the former URL.",
  ),
  oidc_keys_seconds: setting(count(600, 30 * 86_400).default(86_400)).describe(
    "How long the service checks tokens with the issuer's last known keys while the issuer cannot be reached. A key that the issuer removes in that time can stay valid until the time has passed. With 600, the service accepts no token with keys that it fetched more than ten minutes ago.",
  ),
  oidc_read_scope: setting(z.string().default("mucast.read")).describe(
    "Scope (or role) of a token that may read operations and blobs.",
  ),
  oidc_write_scope: setting(z.string().default("mucast.write")).describe(
    "Scope (or role) of a token that may submit, cancel and upload.",
  ),
  executor: setting(z.enum(["process", "container-apps"]).default("process")).describe(
    "Where jobs run: child processes of the service, or Azure Container Apps jobs.",
  ),
  azure_subscription: setting(z.string().optional()).describe("Subscription of the Container Apps jobs."),
  azure_resource_group: setting(z.string().optional()).describe(
    "Resource group of the Container Apps jobs `ml-worker-job` and `dl-job`.",
  ),
  engine: setting(s.optional(z.string().refine((text) => engineUrlFault(text) === undefined)), {
    env: ENGINE_VARIABLES.url,
    flag: "--engine",
    fault: engineUrlFault,
  }).describe(
    "Ray cluster that jobs compute on, as ray://<host>:<port>; this machine by default. Its token comes from `RAY_AUTH_TOKEN` or `RAY_AUTH_TOKEN_PATH`.",
  ),
  engine_insecure: setting(flag.default(false), {
    env: ENGINE_VARIABLES.insecure,
    flag: "--engine-insecure",
  }).describe("Whether a cluster on a loopback address may be used without a token."),
  cores: setting(
    count(1, 1_024).default(availableParallelism()).meta({ shownDefault: "all of the machine" }),
  ).describe(
    "Cores that the fits of all running jobs may use together on this machine. Running jobs share them evenly, so a job alone has all of them. In addition, the Node process of each job, which reads and writes, uses up to one core.",
  ),
  concurrent_jobs: setting(count(1, 1_000).default(2)).describe(
    "Maximum number of jobs that this service runs at the same time; on this machine, never more than `cores`.",
  ),
  memory_bytes: setting(
    count(16 * 2 ** 20, 2 ** 50)
      .default(defaultMemoryBytes())
      .meta({ shownDefault: "80 % of the machine's or the container's memory" }),
  ).describe(
    "Memory that all running jobs may use together on this machine, including all their processes and the process that waits for a job. A single job may use all of it. If it is exceeded, waiting processes end first, then the job furthest above its equal share (`out_of_memory`).",
  ),
  work_bytes: setting(
    s.optional(count(2 ** 20, 2 ** 50)).meta({
      shownDefault: "80 % of the space that would be free without these files",
    }),
  ).describe(
    "Disk space that the temporary files of all running jobs may take together on this machine, under `TMPDIR`. If it is exceeded, the job whose files take the most ends (`output_failed`).",
  ),
  job_seconds: setting(count(1, 7 * 86_400).default(12 * 3_600), { limit: "seconds" }).describe(
    "Maximum duration of an attempt at a job (`timed_out`).",
  ),
  drain_seconds: setting(
    count(0, 3_600)
      // Together with the 5 s in which a job process ends, it fits the 10 s that container engines allow by default.
      .default(3),
  ).describe(
    "How long running jobs may continue after SIGTERM before the service releases them to the queue. Allow 15 s more than this before the service is killed (`--stop-timeout`, `TimeoutStopSec`, `terminationGracePeriodSeconds`); the default fits 10 s.",
  ),
  body_bytes: setting(count(1_024, 16 * 2 ** 20).default(256 * 1_024), { limit: "bytes" }).describe(
    "Maximum size of a request body, except for uploads.",
  ),
  upload_bytes: setting(count(1, 1_024 * GIB).default(16 * GIB), {
    limit: "bytes",
  }).describe("Maximum size of an uploaded blob."),
  prepare_bytes: setting(count(1, 2 ** 30).default(16 * 2 ** 20), { limit: "bytes" }).describe(
    "Maximum size of a body of `POST /v1/prepare` as sent, and of each of its files decompressed.",
  ),
  stored_bytes_per_caller: setting(count(1, 2 ** 50).default(2 ** 40), { limit: "bytes" }).describe(
    "Maximum size of all stored uploads and outputs of one caller (`quota_exceeded`). `DELETE /data/{name}` frees space.",
  ),
  stored_blobs_per_caller: setting(count(1, 100_000_000).default(1_000_000), { limit: "count" }).describe(
    "Maximum number of stored blobs of one caller (`quota_exceeded`).",
  ),
  connections: setting(
    count(16, 1_000_000).optional().meta({ shownDefault: "half of the free descriptors, 10000 at most" }),
  ).describe(
    "Maximum number of open connections. Beyond it, the service closes those that are idle, and new ones without an answer. Each connection needs two file descriptors (`ulimit -n`), in addition to those of the rest of the service.",
  ),
  downloads: setting(count(1, 1_000_000).default(1_000), { limit: "count" }).describe(
    "Maximum number of concurrent downloads of blobs, over all callers.",
  ),
  downloads_per_caller: setting(count(1, 1_000_000).default(200), { limit: "count" }).describe(
    "Maximum number of concurrent downloads of blobs per caller.",
  ),
  queued_per_caller: setting(count(1, 1_000_000).default(1_000), { limit: "count" }).describe(
    "Maximum number of queued operations per caller.",
  ),
  requests_per_minute: setting(count(1, 10_000_000).default(6_000), { limit: "count" }).describe(
    "Maximum number of requests per minute from one caller, or from one address without credentials.",
  ),
  failed_tries_per_minute: setting(count(1, 10_000_000).default(300), { limit: "count" }).describe(
    "Maximum number of keys and tokens per minute from one address that are wrong, or that cannot be checked while the OIDC issuer is unavailable. Beyond it, credentials that were valid before are still checked.",
  ),
  request_processes: setting(count(1, 100).default(2)).describe(
    "Maximum number of processes that draw a report, prepare blobs or preview a job, each for one request. Further requests get 503.",
  ),
  request_memory_bytes: setting(
    count(128 * 2 ** 20, 2 ** 50)
      .default(defaultRequestMemoryBytes())
      .meta({ shownDefault: "a tenth of the machine's or the container's memory, 512 MiB to 2 GiB" }),
    { limit: "bytes" },
  ).describe("Memory that each of these processes may use (`too_large`), in addition to `memory_bytes`."),
  request_seconds: setting(count(1, 3_600).default(120), { limit: "seconds" }).describe(
    "Maximum duration of each of these processes (`timed_out`).",
  ),
  report_cache_bytes: setting(count(0, 2 ** 40).default(64 * 2 ** 20)).describe(
    "Memory for caching reports.",
  ),
  mlflow_tracking_uri: setting(s.optional(z.string().refine((text) => trackerUrlFault(text) === undefined)), {
    env: TRACKER_VARIABLES.url,
    fault: trackerUrlFault,
  }).describe("MLflow server that records each job that succeeds, as an http or https URL."),
  mlflow_experiment: setting(z.string().max(MAX_EXPERIMENT_NAME).default(DEFAULT_EXPERIMENT), {
    env: TRACKER_VARIABLES.experiment,
  }).describe("Experiment of the MLflow server; created if it does not exist."),
  log_level: setting(z.enum(["trace", "debug", "info", "warn", "error"]).default("info")).describe(
    "Minimum level of log lines, written as JSON to stderr.",
  ),
  webhooks: setting(z.array(webhookSchema).default([]), { env: undefined, secret: true }).describe(
    "Receivers of events: name, url, secret, types. Only in the settings file.",
  ),
});

for (const [key, schema] of Object.entries(settingsSchema.shape))
  settingNames.add(schema, { env: `MUCAST_${key.toUpperCase()}`, ...settingNames.get(schema) });

export type Settings = z.infer<typeof settingsSchema>;
