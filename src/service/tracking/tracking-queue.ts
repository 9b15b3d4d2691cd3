import { outputName } from "../../blob/names.ts";
import { credentialsFor } from "../../blob/policy.ts";
import { JOB_OPERATIONS } from "../../contract/config/job-operations.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { TRACKER_VARIABLES } from "../../contract/tracker-url.ts";
import { childEnvironment } from "../../processes/child.ts";
import { type Tracker, trackerOf } from "../../tracking/tracker.ts";
import type { Storage } from "../blobs/storage.ts";
import type { Database } from "../database/database.ts";
import type { OperationRow } from "../database/tables.ts";
import { LeasedWork, type Pace } from "../queue/leased-work.ts";
import type { Leases } from "../queue/leases.ts";
import { outcomeOf, runProcess } from "../request-process/request-processes.ts";
import type { ServiceSettings } from "../settings/load-settings.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

export function trackerOfService(settings: ServiceSettings, env: NodeJS.ProcessEnv): Tracker | undefined {
  return trackerOf(trackerVariables(settings, env));
}

/** The variables of the tracker, for `trackerOf` and for the process that contacts it. */
function trackerVariables(settings: ServiceSettings, env: NodeJS.ProcessEnv): Record<string, string> {
  const { url, experiment, token, username, password } = TRACKER_VARIABLES;
  const variables = {
    ...Object.fromEntries([token, username, password].map((name) => [name, env[name]])),
    [url]: settings.mlflow_tracking_uri,
    [experiment]: settings.mlflow_experiment,
  };
  const set = Object.entries(variables).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set) as Record<string, string>;
}

/** Whether the output of an operation is recorded, if there is a tracker: those of an audit or a replay are not. */
export function isTracked({ operation }: Pick<OperationRow, "operation">): boolean {
  return JOB_OPERATIONS.some((name) => name === operation);
}

interface TrackingParts {
  readonly database: Database;
  readonly leases: Leases;
  readonly settings: ServiceSettings;
  readonly env: NodeJS.ProcessEnv;
  readonly storage: Pick<Storage, "access">;
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, "requestProcessEnded">;
}

export function openTracking(parts: TrackingParts) {
  const { settings, env, storage, telemetry } = parts;
  const tracker = trackerOfService(settings, env);
  if (tracker === undefined) return undefined;
  const { access } = storage;
  const { request_seconds: seconds, request_memory_bytes: memoryBytes } = settings;
  const record: QueueParts["record"] = async ({ name, space }, signal) => {
    const order = { kind: "track", storage: access, space, name, seconds } as const;
    const credentials = childEnvironment(env, credentialsFor(access.policy));
    const limits = { env: { ...credentials, ...trackerVariables(settings, env) }, memoryBytes, seconds };
    const working = runProcess(order, limits, signal);
    telemetry.requestProcessEnded("track", await outcomeOf(working));
    await working;
  };
  return startTracking({ ...parts, url: tracker.url, record });
}

interface QueueParts extends Pick<TrackingParts, "database" | "leases" | "log"> {
  readonly record: (job: EndedJob, signal: AbortSignal) => Promise<void>;
  readonly url: string;
  readonly pace?: Pace;
}

/** Attempts at one output. They take about an hour. */
export const MAX_ATTEMPTS = 10;

const PACE: Pace = {
  claimMilliseconds: 5_000,
  retryDelay: (attempts) => Math.min(900, 5 * 3 ** (attempts - 1)),
  closeMilliseconds: 1_000,
};

/** One after the other. The log has one warning when recording begins to fail, and one line when it succeeds again. */
export function startTracking(parts: QueueParts): LeasedWork<EndedJob> {
  const { database, leases, record, url, log, pace = PACE } = parts;
  let isFailing = false;
  const report = ({ id, attempt }: EndedJob, error: unknown) => {
    const fields = { operation_id: id, attempts: attempt, tracker: url, err: error };
    if (error === undefined) {
      if (isFailing) log.info({ tracker: url }, "jobs are recorded in MLflow again");
    } else if (isFailing) log.debug(fields, "a job was not recorded in MLflow");
    else log.warn(fields, "jobs cannot be recorded in MLflow; a line will say when they are again");
    isFailing = error !== undefined;
  };
  const queue = new LeasedWork({
    pace,
    concurrent: 1,
    claim: () => claimEnded(database, leases.owner),
    work: async (job, signal) => {
      const { id, attempt } = job;
      const error: unknown = await record(job, signal).catch((thrown: unknown) => thrown);
      if (!signal.aborted) report(job, error);
      const isRepeated = error !== undefined && isPassing(error) && attempt < MAX_ATTEMPTS;
      await database.write<unknown>((db) => {
        if (!signal.aborted && !isRepeated)
          return db.deleteFrom("tracking").where("id", "=", id).where("attempt", "=", attempt).execute();
        const changes = signal.aborted
          ? { attempt: attempt - 1 }
          : { next_at: database.time(pace.retryDelay(attempt)) };
        return db
          .updateTable("tracking")
          .set({ owner: null, ...changes })
          .where(({ and }) => and({ id, attempt }))
          .execute();
      });
    },
    onError: (error) => log.warn({ err: error }, "the queue of jobs to record could not be read or written"),
  });
  leases.watch("tracking", { isAtWork: (id) => queue.isAtWork(id) });
  return queue;
}

function claimEnded(database: Database, owner: string) {
  return database.write(async (db) => {
    const due = await db
      .selectFrom("tracking as t")
      .innerJoin("operations as o", "o.id", "t.id")
      .select(["t.id", "t.attempt", "o.space", "o.operation"])
      .where("t.owner", "is", null)
      .where("t.next_at", "<=", database.time())
      .orderBy("t.next_at")
      .limit(1)
      .modifyEnd(database.lock("t", "skip"))
      .executeTakeFirst();
    if (due === undefined) return [];
    const { id, space, operation } = due;
    const attempt = due.attempt + 1;
    await db.updateTable("tracking").set({ owner, attempt }).where("id", "=", id).execute();
    return [{ id, space, attempt, name: outputName(operation, id) }];
  });
}

type EndedJob = Awaited<ReturnType<typeof claimEnded>>[number];

function isPassing(error: unknown): boolean {
  if (!(error instanceof MucastError)) return false;
  if (error.code === "tracking_failed") return error.data.passing === true;
  return ["timed_out", "process_lost", "unavailable", "blob_unavailable"].includes(error.code);
}
