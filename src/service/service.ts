import { existsSync } from "node:fs";
import type { BlobStore } from "../blob/store.ts";
import type { QueueView } from "../contract/api/queue-view.ts";
import { parsePayload } from "../contract/config/payload.ts";
import { clusterOf } from "../contract/engine-url.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { MUCAST_BUILD } from "../contract/version.ts";
import { readStatus } from "../executors/status-reader.ts";
import { buildAuthenticate, checkAuthAllowed } from "./auth/build-authenticate.ts";
import type { Caller } from "./auth/caller.ts";
import { firstIssuer } from "./auth/issuer-store.ts";
import { KeyStore } from "./auth/key-store.ts";
import { InputUrls, type ServiceUrls } from "./blobs/input-urls.ts";
import { openBlobFolder, openStorage, type Storage } from "./blobs/open-storage.ts";
import { StoredBlobs } from "./blobs/stored-blobs.ts";
import { keepFinishingRemovals } from "./blobs/stored-removals.ts";
import type { Database } from "./database/database.ts";
import { startDumps } from "./database/database-dumps.ts";
import { openDatabase } from "./database/open-database.ts";
import { keepReclaimingSpace } from "./database/reclaim-space.ts";
import { Forecasts } from "./forecast/forecasts.ts";
import { cannotListen, checkFree, hostOf, isEveryAddress, type ListenAddress } from "./free-address.ts";
import { buildHttp } from "./http/build-http.ts";
import type { HttpApp } from "./http/server/http-app.ts";
import { type DataLock, LOST_EXIT, lockDataFolder } from "./lock/data-lock.ts";
import { registerMcp } from "./mcp/register-mcp.ts";
import { openExecutor } from "./open-executor.ts";
import type { Submission } from "./operations/operations.ts";
import { startRetention } from "./operations/retention.ts";
import { StoredOperations } from "./operations/stored-operations.ts";
import { Preparations } from "./preparation/preparations.ts";
import { Dispatcher } from "./queue/dispatcher.ts";
import { newOwner } from "./queue/lease-recovery.ts";
import { OperationNotifications } from "./queue/operation-notifications.ts";
import { Readiness } from "./readiness.ts";
import { ReportLinks } from "./report/report-links.ts";
import { Reports } from "./report/reports.ts";
import { RequestProcesses } from "./request-process/request-processes.ts";
import { type ServiceSettings, secretsOf } from "./settings/load-settings.ts";
import { findBlob, ownerOf } from "./store/blob-records.ts";
import { markAllInterrupted } from "./store/blob-removals.ts";
import { type WebhookTypes, webhookTypes } from "./store/events.ts";
import { countWaiting } from "./store/operation-rows.ts";
import { type Log, openLog } from "./telemetry/log.ts";
import { openLogDestination } from "./telemetry/log-destination.ts";
import { openTelemetry } from "./telemetry/open-telemetry.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";
import { openTracking, trackerOfService } from "./tracking/open-tracking.ts";
import { startDeliverer } from "./webhooks/deliverer.ts";

const STDERR = 2;

/** A service that listens. */
export interface RunningService {
  /** `http://host:port`. */
  readonly address: string;
  /**
   * Drains the service: refuses submissions, lets jobs continue for the `drain_seconds` of the settings, and releases the rest to the
   * queue. Then closes everything.
   */
  close(): Promise<void>;
}

/**
 * Opens everything that a service needs, listens, and starts to run jobs.
 * @throws MucastError invalid_request for faulty settings, unavailable if another service has the data folder or the database is
 * unreachable. Then nothing stays open.
 */
export async function startService(
  settings: ServiceSettings,
  env: NodeJS.ProcessEnv = process.env,
): Promise<RunningService> {
  checkAuthAllowed(settings);
  clusterOf(settings.engine, settings.engine_insecure);
  trackerOfService(settings, env);
  if (!existsSync(settings.data_dir)) await checkFree(settings);
  const resources = new OpenResources();
  try {
    return await start(settings, env, resources);
  } catch (error) {
    // The operator needs the first error; an error of closing only follows from it.
    await resources.close().catch(() => undefined);
    throw error;
  }
}

async function start(
  settings: ServiceSettings,
  env: NodeJS.ProcessEnv,
  resources: OpenResources,
): Promise<RunningService> {
  const storage = await openStorage(settings, env);
  // It is also the store of the jobs, or holds nothing open. It closes last, since HTTP may still read.
  resources.add(() => storage.store.close());
  const destination = openLogDestination(STDERR, (lines) =>
    log.warn({ lines }, "log lines were dropped, because the disk was full or their reader had stopped"),
  );
  const log = openLog({ level: settings.log_level, secrets: secretsOf(settings, env), destination });
  const telemetry = await openTelemetry({
    ...{ log, env, webhooks: settings.webhooks },
    lostLines: () => destination.lost,
  });
  resources.add(() => telemetry.close());
  const lock =
    settings.database_url === undefined
      ? lockDataFolder(settings.data_dir, {
          onLost: (reason) => endProcess(log, settings.data_dir, reason),
          onError: (error) => log.warn({ err: error }, "the lock of the data folder cannot be read"),
        })
      : undefined;
  resources.add(() => lock?.release());
  if (storage.folder !== undefined) await openBlobFolder(storage.folder, settings.data_dir);
  const database = await openDatabase(
    {
      databaseUrl: settings.database_url,
      connections: settings.database_connections,
      dataDir: settings.data_dir,
      lock,
      onPanic: (line) => endAtPanic(log, settings.data_dir, line),
    },
    (migration) => log.info(migration, "migrated the database"),
  );
  resources.add(() => database.close());
  if (database.dump) {
    resources.add(startDumps({ dataDir: settings.data_dir, dump: (write) => database.dump!(write), log }));
    resources.add(keepReclaimingSpace(database, log));
  }
  // No other service has it open.
  if (database.kind === "pglite") await markAllInterrupted(database);
  const notifications = await OperationNotifications.start(database);
  resources.add(() => notifications.close());
  const parts = { settings, env, log, telemetry, database, notifications, storage, lock };
  return openService(parts, resources);
}

interface Parts {
  readonly settings: ServiceSettings;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
  readonly telemetry: Telemetry;
  readonly database: Database;
  readonly notifications: OperationNotifications;
  readonly storage: Storage;
  readonly lock: DataLock | undefined;
}

/** The exit status after the embedded database has stopped. */
const PANIC_EXIT = 1;

/** Nothing is closed and nothing answers: another process may already have the files of the data folder. */
function endProcess(log: Log, data_dir: string, reason: string): never {
  log.error({ data_dir, status: LOST_EXIT }, `${reason}; the service ends at once and changes nothing more`);
  process.exit(LOST_EXIT);
}

/** PostgreSQL recovers what was committed when the supervisor starts the service again. */
function endAtPanic(log: Log, data_dir: string, line: string): never {
  log.error(
    { data_dir, postgres: line, status: PANIC_EXIT },
    "the embedded database has stopped; the service ends at once",
  );
  process.exit(PANIC_EXIT);
}

async function openService(parts: Parts, resources: OpenResources): Promise<RunningService> {
  const { settings, database, notifications, storage, telemetry, log } = parts;
  const webhooks = webhookTypes(settings.webhooks);
  const quota = { bytes: settings.stored_bytes_per_caller, blobs: settings.stored_blobs_per_caller };
  const blobs = new StoredBlobs({ database, store: storage.store, settings, quota });
  let inputUrls: InputUrls | undefined;
  let dispatcher: Dispatcher | undefined;
  const operations = new StoredOperations({
    database,
    notifications,
    webhooks,
    settings,
    quota,
    read: async (caller, submission) => readPayload(caller, submission, inputUrls),
    requireStorage: () => readiness.requireStorage(),
    blobs,
    forecasts: new Forecasts(blobs),
    onQueued: (row) => telemetry.queued(row),
    onCanceled: (row) => telemetry.ended(row, []),
  });
  const processes = RequestProcesses.open(parts);
  resources.add(() => processes.close());
  const reports = new Reports({
    blobs,
    cacheBytes: settings.report_cache_bytes,
    draw: (outputs, signal) => processes.run({ kind: "report", storage: storage.access, outputs }, signal),
  });
  const preparations = new Preparations({
    blobs,
    settings,
    run: (order, signal) => processes.run(order, signal),
  });
  const keys = new KeyStore(database);
  const localToken = parts.lock?.token;
  const authenticate = await buildAuthenticate(settings, {
    keys,
    firstIssuer: (issuer) => firstIssuer(database, issuer),
    log,
    localToken,
  });
  const readiness: Readiness = new Readiness({
    database,
    store: storage.store,
    blobFolder: storage.folder,
    isOneCaller: settings.auth === "none",
    dataDir: parts.lock && settings.data_dir,
    checkLock: () => parts.lock?.endIfLost(),
    phase: () => {
      if (operations.draining) return "draining";
      return dispatcher === undefined ? "starting" : "accepting";
    },
  });
  // Before the storage and the database close: a check writes to both.
  resources.add(() => readiness.close());
  readiness.start();
  const http = buildHttp({
    settings,
    operations,
    blobs,
    reports,
    reportLinks: new ReportLinks(database, keys),
    preparations,
    authenticate,
    localToken,
    keys,
    log,
    telemetry,
    ready: () => readiness.checks(),
    occupancy: () => occupancyOf(dispatcher),
  });
  registerMcp(http, { operations, settings, log });
  if (parts.lock) endWithLock(http, parts.lock);
  resources.add(() => http.close());
  const address = await listenOn(http, settings);
  const { store, urls } = await storage.at(address);
  inputUrls = inputUrlsOf(urls, store, parts);
  resources.add(keepFinishingRemovals({ database, store, log }));
  const background = { store, urls, inputUrls, webhooks, processes };
  const started = await openDispatcher(parts, resources, background);
  dispatcher = started;
  await startBackgroundWork(parts, resources, background, started);
  parts.lock?.announce(address);
  log.info(
    {
      version: MUCAST_BUILD,
      address,
      storage: store.url,
      database: database.kind,
      executor: settings.executor,
      engine: settings.engine,
    },
    "listening",
  );
  if (storage.folder !== undefined && settings.public_url === undefined && isEveryAddress(settings))
    log.warn(
      { output_urls: urls.jobBase },
      "the URLs of outputs name this machine alone: set MUCAST_PUBLIC_URL to the URL at which callers reach the service, before it runs jobs",
    );
  return {
    address,
    close: async () => {
      log.info({ running: started.runningJobs, seconds: settings.drain_seconds }, "draining");
      operations.drain();
      await started.drain(settings.drain_seconds * 1_000);
      await resources.close();
      log.info({}, "ended");
    },
  };
}

/** A process that was frozen ends before it answers an earlier request, or handles the next one. */
function endWithLock(http: HttpApp, { endIfLost }: DataLock): void {
  http.addHook("onRequest", async () => endIfLost());
  http.addHook("onSend", async () => endIfLost());
}

/** @param dispatcher undefined until the service listens. */
function occupancyOf(dispatcher: Dispatcher | undefined): QueueView["service"] {
  if (!dispatcher) throw aboutToStart();
  return dispatcher.occupancy;
}

function aboutToStart(): MucastError {
  return new MucastError("unavailable", "the service is about to start", { retryAfter: 1 });
}

/** Parses and checks a payload. @param urls undefined until the service listens. */
function readPayload(caller: Caller, submission: Submission, inputUrls: InputUrls | undefined) {
  if (!inputUrls) throw aboutToStart();
  const { operation, payload, origin } = submission;
  const urls = inputUrls.reachedAt(origin);
  const parsed = parsePayload(operation, payload, { checkUrl: urls.fault });
  return { ...parsed, inputs: () => urls.resolve(caller, parsed) };
}

function inputUrlsOf(urls: ServiceUrls, store: BlobStore, { database, settings }: Parts): InputUrls {
  return new InputUrls(urls, {
    find: (caller, name) => findBlob(database, caller, name),
    // Only if there is a single caller may a payload name a blob that does not exist yet.
    isOpen: async (name) =>
      (await ownerOf(database, { name, space: "" })) === undefined &&
      (settings.auth === "none" || (await store.stat(`data/${name}`)) !== undefined),
  });
}

async function openDispatcher(
  parts: Parts,
  resources: OpenResources,
  { store, urls, inputUrls, webhooks }: BackgroundParts,
): Promise<Dispatcher> {
  const { settings, env, database, telemetry, log } = parts;
  // It closes after the dispatcher, which adds the jobs that end while the service drains.
  const tracking = openTracking(parts);
  resources.add(() => tracking?.close());
  const executor = await openExecutor({ settings, env, urls, store, log });
  resources.add(() => executor.close());
  const owner = newOwner();
  const { urlOf } = inputUrls;
  return new Dispatcher({
    ...{ database, owner, executor, store, readStatus, settings, urlOf, webhooks, telemetry, log },
    onSucceeded: (row) => tracking?.add(row),
  });
}

/** Starts what works without requests: the dispatcher, retention and webhooks. */
async function startBackgroundWork(
  { settings, database, notifications, telemetry, log }: Parts,
  resources: OpenResources,
  { store, processes }: BackgroundParts,
  dispatcher: Dispatcher,
): Promise<void> {
  telemetry.gauges({
    queueLength: () => countWaiting(database),
    runningJobs: () => dispatcher.runningJobs,
    coresTaken: () => dispatcher.coresTaken,
    requestProcesses: () => processes.running,
  });
  resources.add(startRetention({ database, store, days: settings.retention_days, log }));
  const source = settings.public_url ?? "urn:mucast:service";
  const deliverer = startDeliverer({ database, targets: settings.webhooks, source, log, telemetry });
  resources.add(() => deliverer.close());
  notifications.onEvent(() => deliverer.wake());
  resources.add(() => dispatcher.drain(0));
  await dispatcher.start(notifications, database.kind === "pglite");
}

interface BackgroundParts {
  readonly store: BlobStore;
  readonly urls: ServiceUrls;
  readonly inputUrls: InputUrls;
  readonly webhooks: WebhookTypes;
  readonly processes: RequestProcesses;
}

/** Open resources, to be closed in reverse order, even if closing one fails. */
class OpenResources {
  readonly #steps: (() => unknown)[] = [];

  add(close: () => unknown): void {
    this.#steps.push(close);
  }

  /** @throws the first error, once everything is closed. */
  async close(): Promise<void> {
    const errors: unknown[] = [];
    for (const close of this.#steps.splice(0).reverse()) {
      try {
        await close();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}

/** Starts to listen. @returns `http://host:port`. @throws MucastError cannot_listen if the address cannot be used. */
async function listenOn(http: HttpApp, address: ListenAddress): Promise<string> {
  try {
    return await http.listen({ host: hostOf(address), port: address.port });
  } catch (cause) {
    throw cannotListen(address, cause);
  }
}
