import { credentialsFor } from "../../blob/policy.ts";
import { JOB_OPERATIONS } from "../../contract/config/job-operations.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { TRACKER_VARIABLES } from "../../contract/tracker-url.ts";
import { childEnvironment } from "../../processes/child-environment.ts";
import { type Tracker, trackerOf } from "../../tracking/tracker.ts";
import type { Storage } from "../blobs/storage.ts";
import type { Database } from "../database/database.ts";
import type { Leases } from "../queue/leases.ts";
import { runProcess } from "../request-process/request-processes.ts";
import type { ServiceSettings } from "../settings/load-settings.ts";
import type { OperationRow } from "../store/operations.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { TrackingQueue } from "./tracking-queue.ts";

type TrackerSettings = Pick<ServiceSettings, "mlflow_tracking_uri" | "mlflow_experiment">;

interface TrackingParts {
  readonly database: Database;
  readonly leases: Leases;
  readonly settings: ServiceSettings;
  readonly env: NodeJS.ProcessEnv;
  readonly storage: Pick<Storage, "access">;
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, "requestProcessEnded">;
}

/** Bytes of the answer of a process: the run. */
const MAX_ANSWER = 65_536;

/** The tracker of a service. @throws MucastError invalid_request like `trackerOf`. */
export function trackerOfService(settings: TrackerSettings, env: NodeJS.ProcessEnv): Tracker | undefined {
  return trackerOf(trackerVariables(settings, env));
}

/** Whether the output of an operation is recorded, if there is a tracker: those of an audit or a replay are not. */
export function isTracked({ operation }: Pick<OperationRow, "operation">): boolean {
  return JOB_OPERATIONS.some((name) => name === operation);
}

/** @returns undefined without a tracker. @throws MucastError invalid_request like `trackerOf`. */
export function openTracking({
  database,
  leases,
  settings,
  env,
  storage,
  log,
  telemetry,
}: TrackingParts): TrackingQueue | undefined {
  const tracker = trackerOfService(settings, env);
  if (tracker === undefined) return undefined;
  const { access } = storage;
  const limits = () => ({
    env: { ...childEnvironment(env, credentialsFor(access.policy)), ...trackerVariables(settings, env) },
    memoryBytes: settings.request_memory_bytes,
    seconds: settings.request_seconds,
    answerBytes: MAX_ANSWER,
  });
  return new TrackingQueue({
    database,
    leases,
    url: tracker.url,
    log,
    record: async ({ name, space }, signal) => {
      const order = {
        kind: "track",
        storage: access,
        space,
        name,
        seconds: settings.request_seconds,
      } as const;
      const [settled] = await Promise.allSettled([runProcess(order, limits(), signal)]);
      telemetry.requestProcessEnded(
        "track",
        settled.status === "fulfilled" ? "done" : codeOf(settled.reason),
      );
      if (settled.status === "rejected") throw settled.reason;
    },
  });
}

/** The variables of the tracker, for `trackerOf` and for the process that contacts it. */
function trackerVariables(settings: TrackerSettings, env: NodeJS.ProcessEnv): Record<string, string> {
  const variables = {
    [TRACKER_VARIABLES.url]: settings.mlflow_tracking_uri,
    [TRACKER_VARIABLES.experiment]: settings.mlflow_experiment,
    ...Object.fromEntries(CREDENTIALS.map((name) => [name, env[name]])),
  };
  return Object.fromEntries(
    Object.entries(variables).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

const CREDENTIALS = [TRACKER_VARIABLES.token, TRACKER_VARIABLES.username, TRACKER_VARIABLES.password];

function codeOf(error: unknown) {
  return error instanceof MucastError ? error.code : "internal";
}
