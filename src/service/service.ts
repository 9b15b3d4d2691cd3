import { randomBytes } from "node:crypto";
import { DEFAULT_BLOB_LIMITS, limitsEnv } from "../contract/blob-limits.ts";
import { parsePayload } from "../contract/config/payload.ts";
import { clusterOf, engineEnv } from "../contract/engine-url.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { causeOf, codeOf } from "../contract/errors/system-error.ts";
import { MUCAST_BUILD } from "../contract/version.ts";
import type { Executor } from "../executors/executor.ts";
import { readStatus } from "../executors/status-blobs.ts";
import { buildAuthenticate, checkAuthAllowed } from "./auth/authenticate.ts";
import { KeyStore } from "./auth/key-store.ts";
import { StoredBlobs } from "./blobs/blobs.ts";
import { InputUrls } from "./blobs/input-urls.ts";
import { openBlobFolder, openStorage, type Storage, type StorageAccess } from "./blobs/storage.ts";
import { openDatabase } from "./database/database.ts";
import { Forecasts } from "./forecast/forecasts.ts";
import { buildHttp } from "./http/build-http.ts";
import { registerMcp } from "./mcp/mcp-server.ts";
import { countWaiting, Operations } from "./operations/operations.ts";
import { startRetention } from "./operations/retention.ts";
import { Preparations } from "./preparation/preparations.ts";
import { Dispatcher } from "./queue/dispatcher.ts";
import { Leases } from "./queue/leases.ts";
import { type Readiness, watchReadiness } from "./readiness.ts";
import { ReportLinks, Reports } from "./report/reports.ts";
import { RequestProcesses } from "./request-process/request-processes.ts";
import { announceService, hostOf, isEveryAddress } from "./service-address.ts";
import { type ServiceSettings, secretsOf } from "./settings/load-settings.ts";
import { jobInputs } from "./store/blobs.ts";
import { OperationNotifications } from "./store/follow-events.ts";
import { type Log, openLog, openLogDestination } from "./telemetry/log.ts";
import { openTelemetry } from "./telemetry/telemetry.ts";
import { isTracked, openTracking, trackerOfService } from "./tracking/tracking-queue.ts";
import { startDeliverer } from "./webhooks/deliverer.ts";

export interface RunningService {
  /** `http://host:port`. */
  readonly address: string;
  readonly token: string;
  /** Refuses submissions, lets jobs continue for `drain_seconds`, releases the rest to the queue, and closes everything. */
  close(): Promise<void>;
}

const ONLY_HERE =
  "the URLs of outputs name this machine alone: set MUCAST_PUBLIC_URL to the URL at which callers reach the service, before it runs jobs";

/** Opens everything that a service needs, listens, and starts to run jobs. If it throws, nothing stays open. */
export async function startService(
  settings: ServiceSettings,
  env: NodeJS.ProcessEnv = process.env,
): Promise<RunningService> {
  checkAuthAllowed(settings);
  clusterOf(settings.engine, settings.engine_insecure);
  trackerOfService(settings, env);
  const resources = new AsyncDisposableStack();
  try {
    return await start(settings, env, resources);
  } catch (error) {
    // The operator needs the first error; an error of closing only follows from it.
    await resources.disposeAsync().catch(() => undefined);
    throw error;
  }
}

async function start(
  settings: ServiceSettings,
  env: NodeJS.ProcessEnv,
  resources: AsyncDisposableStack,
): Promise<RunningService> {
  // What requests need before the service listens. What is opened first closes last.
  const storage = await openStorage(settings, env);
  resources.defer(() => storage.store.close());
  const destination = openLogDestination(2, (lines) =>
    log.warn({ lines }, "log lines were dropped, because the disk was full or their reader had stopped"),
  );
  const log = openLog({ level: settings.log_level, secrets: secretsOf(settings, env), destination });
  const { webhooks } = settings;
  const telemetry = await openTelemetry({ log, env, webhooks, lostLines: () => destination.lost });
  resources.defer(() => telemetry.close());
  if (storage.folder !== undefined) await openBlobFolder(storage.folder, settings.data_dir);
  const database = await openDatabase(settings, (migration) => log.info(migration, "migrated the database"));
  resources.defer(() => database.close());
  const notifications = await OperationNotifications.start(database);
  resources.defer(() => notifications.close());
  const leases = new Leases({ database, log });
  resources.defer(() => leases.stop());
  const quota = { bytes: settings.stored_bytes_per_caller, blobs: settings.stored_blobs_per_caller };
  const blobs = new StoredBlobs({ database, store: storage.store, settings, quota });
  const processes = new RequestProcesses({ settings, env, storage, log, telemetry });
  resources.defer(() => processes.close());
  const keys = new KeyStore(database, log);
  const token = randomBytes(32).toString("base64url");
  const authenticate = await buildAuthenticate(settings, { database, keys, log, localToken: token });

  // What needs the address, or a listening service, comes later.
  let inputUrls: InputUrls | undefined;
  let jobAccess: StorageAccess | undefined;
  let dispatcher: Dispatcher | undefined;
  const operations = new Operations({
    ...{ database, notifications, webhooks, settings, quota, telemetry },
    read: async (caller, use, { payload, origin }) => {
      if (!inputUrls) throw aboutToStart();
      const urls = inputUrls.reachedAt(origin);
      const parsed = parsePayload(use, payload, { checkUrl: urls.fault });
      return { ...parsed, inputs: () => urls.resolve(caller, parsed) };
    },
    preview: async (job, signal) => {
      if (!inputUrls || !jobAccess) throw aboutToStart();
      const inputs = jobInputs(job, inputUrls.urlOf);
      return processes.run({ kind: "validate", storage: jobAccess, inputs }, signal);
    },
    requireStorage: () => readiness.requireStorage(),
    forecasts: new Forecasts(blobs),
  });
  const readiness: Readiness = watchReadiness({
    database,
    store: storage.store,
    blobFolder: storage.folder,
    isOneCaller: settings.auth === "none",
    dataDir: database.kind === "sqlite" ? settings.data_dir : undefined,
    phase: () => (operations.draining ? "draining" : dispatcher === undefined ? "starting" : "accepting"),
  });
  resources.defer(() => readiness.close());
  readiness.start();
  const http = buildHttp({
    ...{ settings, operations, blobs, authenticate, keys, log, telemetry },
    reports: new Reports({
      blobs,
      cacheBytes: settings.report_cache_bytes,
      draw: (outputs, signal) => processes.run({ kind: "report", storage: storage.access, outputs }, signal),
    }),
    reportLinks: new ReportLinks(database, keys),
    preparations: new Preparations({ blobs, settings, run: (order, signal) => processes.run(order, signal) }),
    ready: () => readiness.checks(),
    occupancy: () => {
      if (!dispatcher) throw aboutToStart();
      return dispatcher.occupancy;
    },
  });
  registerMcp(http, { operations, log });
  resources.defer(() => http.close());
  const { host, port } = settings;
  const address = await http.listen({ host: hostOf(settings), port }).catch((cause: unknown) => {
    // Without a code, it is a defect.
    if (codeOf(cause) === undefined) throw cause;
    const message = `cannot listen on ${host}:${port}: ${causeOf(cause)}`;
    throw new MucastError("cannot_listen", message, { path: "--port", value: port }, { cause });
  });

  // The jobs.
  const { store, urls, access } = await storage.at(address);
  inputUrls = new InputUrls(urls, blobs);
  jobAccess = access;
  resources.defer(blobs.keepFinishingRemovals(log));
  resources.defer(startRetention({ database, store, days: settings.retention_days, log }));
  const source = settings.public_url ?? "urn:mucast:service";
  const deliverer = startDeliverer({ database, leases, targets: webhooks, source, log, telemetry });
  resources.defer(() => deliverer.close());
  // It closes after the dispatcher, whose jobs may end while the service drains.
  const tracking = openTracking({ database, leases, settings, env, storage, log, telemetry });
  resources.defer(() => tracking?.close());
  const executor = await openExecutor(settings, env, { store, access }, log);
  resources.defer(() => executor.close());
  const started = new Dispatcher({
    ...{ database, leases, executor, store, settings, webhooks, telemetry, log },
    urlOf: inputUrls.urlOf,
    isTracked: (row) => tracking !== undefined && isTracked(row),
  });
  dispatcher = started;
  resources.defer(() => started.drain(0));
  notifications.onEvent((type) => {
    deliverer.wake();
    if (type === "succeeded") tracking?.wake();
  });
  started.start(notifications);
  leases.start();
  telemetry.gauges({
    queueLength: () => countWaiting(database.db),
    runningJobs: () => started.occupancy.running,
    coresTaken: () => started.occupancy.cores?.used ?? 0,
    requestProcesses: () => processes.running,
  });
  if (database.kind === "sqlite") resources.defer(announceService(settings.data_dir, { address, token }));
  const { engine } = settings;
  const parts = { storage: store.url, database: database.kind, executor: settings.executor, engine };
  log.info({ version: MUCAST_BUILD, address, ...parts }, "listening");
  if (storage.folder !== undefined && settings.public_url === undefined && isEveryAddress(settings))
    log.warn({ output_urls: urls.jobBase }, ONLY_HERE);
  return {
    address,
    token,
    close: async () => {
      log.info({ running: started.occupancy.running, seconds: settings.drain_seconds }, "draining");
      operations.draining = true;
      await started.drain(settings.drain_seconds * 1_000);
      await resources.disposeAsync();
      log.info({}, "ended");
    },
  };
}

/** Its modules, and Azure's, are loaded only if they are used. */
async function openExecutor(
  settings: ServiceSettings,
  env: NodeJS.ProcessEnv,
  { store, access }: Pick<Awaited<ReturnType<Storage["at"]>>, "store" | "access">,
  log: Log,
): Promise<Executor> {
  if (settings.executor === "container-apps") {
    const { ContainerAppsExecutor } = await import("../executors/container-apps/container-apps-executor.ts");
    return ContainerAppsExecutor.open({
      subscription: settings.azure_subscription,
      resourceGroup: settings.azure_resource_group,
      container: access.policy.container,
      settings: { ...limitsEnv(access.policy.limits ?? DEFAULT_BLOB_LIMITS), ...engineEnv(settings.engine) },
      readStatus: (id, attempt, space = "") => readStatus(store.within(space), id, attempt),
      onPollFailed: (message, order) => log.warn({ operation_id: order.id, attempt: order.attempt }, message),
    });
  }
  const { ProcessExecutor } = await import("../executors/process/process-executor.ts");
  return new ProcessExecutor({
    ...access,
    env,
    warm: true,
    memoryBytes: settings.memory_bytes,
    workBytes: settings.work_bytes,
    cluster: clusterOf(settings.engine, settings.engine_insecure),
    jobs: Math.min(settings.concurrent_jobs, settings.cores),
    log: (line, operation_id) => log.info({ operation_id, line }, "output of a job process"),
  });
}

function aboutToStart(): MucastError {
  return new MucastError("unavailable", "the service is about to start", { retryAfter: 1 });
}
