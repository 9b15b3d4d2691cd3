import { z } from "zod";
import { failureOf, isPassingStatus, isTrustFailure } from "../blob/remote/remote-request.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { printable } from "../contract/errors/wording.ts";
import { MUCAST_VERSION } from "../contract/version.ts";
import { OUTPUT_TAG, type TrackedOutput } from "./tracked-output.ts";
import type { Tracker } from "./tracker.ts";

/** The run of an output at a tracker. */
export interface TrackedRun {
  readonly run_id: string;
  readonly experiment: string;
  /** The run's page. */
  readonly url: string;
  /** False if an earlier export had already completed the run; then nothing was sent. */
  readonly created: boolean;
  /** False if the server does not accept artifacts; then the run has none. */
  readonly artifacts: boolean;
}

/** How long an export may take, and each of its requests but an upload; 30 s by default. */
export interface TrackingLimits {
  readonly totalMs: number;
  readonly requestMs?: number;
}

const REQUEST_MS = 30_000;
/** Characters of the server's own message that an error shows. */
const MAX_MESSAGE = 300;
/** One request may have 1,000 metrics and 100 params, and together 1,000 of both. */
const BATCH = { metrics: 900, params: 100 };

/** A request that the tracker did not carry out. */
export class TrackerFailure extends Error {
  /** The tracker may carry it out later: it is away, slow, overloaded or broken. */
  readonly isPassing: boolean;
  /** MLflow's error code, such as `RESOURCE_DOES_NOT_EXIST`. */
  readonly code: string | undefined;

  constructor(message: string, { isPassing = false, code }: { isPassing?: boolean; code?: string } = {}) {
    super(message);
    this.isPassing = isPassing;
    this.code = code;
  }
}

/** The error of a command: the tracker and why it has no complete run. */
export function trackingFailed(tracker: Tracker, failure: TrackerFailure): MucastError {
  const message = `the run could not be recorded at ${tracker.url}: ${failure.message}`;
  return new MucastError("tracking_failed", message, { source: tracker.url, passing: failure.isPassing });
}

/**
 * Records an output as a run: params, metrics and tags, then the output and its report as artifacts. Completes the run that an earlier
 * export of the same output began, and sends nothing if it is complete. Repeats no request: the caller exports again.
 * @throws MucastError tracking_failed, with `passing` if a later export may succeed; what the signal aborts with.
 */
export async function trackRun(
  output: TrackedOutput,
  tracker: Tracker,
  signal: AbortSignal,
  { totalMs, requestMs }: TrackingLimits,
): Promise<TrackedRun> {
  const late = AbortSignal.timeout(totalMs);
  try {
    const send = senderTo(tracker, AbortSignal.any([signal, late]), requestMs);
    const experiment = await findOrCreateExperiment(send, tracker);
    return await recordRun(send, output, tracker, experiment);
  } catch (error) {
    signal.throwIfAborted();
    const tooLate = new TrackerFailure(`it took longer than ${totalMs / 1_000} s`, { isPassing: true });
    const failure = late.aborted ? tooLate : error;
    throw failure instanceof TrackerFailure ? trackingFailed(tracker, failure) : failure;
  }
}

/** Checks that a tracker answers, and accepts the credentials. @throws MucastError tracking_failed; what the signal aborts with. */
export async function checkTracker(tracker: Tracker, signal: AbortSignal): Promise<void> {
  try {
    await findExperiment(senderTo(tracker, signal), tracker);
  } catch (error) {
    throw error instanceof TrackerFailure ? trackingFailed(tracker, error) : error;
  }
}

const experimentSchema = z.object({ experiment_id: z.string(), lifecycle_stage: z.string().optional() });

async function findOrCreateExperiment(send: Send, tracker: Tracker): Promise<string> {
  const found = await findExperiment(send, tracker);
  if (found !== undefined) return found;
  try {
    const { experiment_id } = await send("mlflow/experiments/create", experimentSchema, {
      json: { name: tracker.experiment },
    });
    return experiment_id;
  } catch (error) {
    // Another export may have created it in the meantime.
    const isThere = error instanceof TrackerFailure && error.code === "RESOURCE_ALREADY_EXISTS";
    const other = isThere ? await findExperiment(send, tracker) : undefined;
    if (other === undefined) throw error;
    return other;
  }
}

async function findExperiment(send: Send, { experiment }: Tracker): Promise<string | undefined> {
  try {
    const query = new URLSearchParams({ experiment_name: experiment });
    const schema = z.object({ experiment: experimentSchema });
    const answer = await send(`mlflow/experiments/get-by-name?${query}`, schema);
    if (answer.experiment.lifecycle_stage !== "deleted") return answer.experiment.experiment_id;
  } catch (error) {
    if (error instanceof TrackerFailure && error.code === "RESOURCE_DOES_NOT_EXIST") return undefined;
    throw error;
  }
  throw new TrackerFailure(
    `its experiment ${JSON.stringify(experiment)} is deleted; restore it, or set MLFLOW_EXPERIMENT_NAME to another name`,
  );
}

const runSchema = z.object({
  info: z.object({ run_id: z.string(), status: z.string(), artifact_uri: z.string() }),
});

async function recordRun(
  send: Send,
  output: TrackedOutput,
  { url, experiment }: Tracker,
  experiment_id: string,
): Promise<TrackedRun> {
  const { sha256, name: run_name, createdAt, tags, artifacts } = output;
  const filter = `tags."${OUTPUT_TAG}" = '${sha256}'`;
  const search = { experiment_ids: [experiment_id], filter, run_view_type: "ACTIVE_ONLY", max_results: 10 };
  const foundSchema = z.object({ runs: z.array(runSchema).optional() });
  const { runs = [] } = await send("mlflow/runs/search", foundSchema, { json: search });
  const found = runs.find(({ info }) => info.status === "FINISHED") ?? runs[0];
  const { run_id, status, artifact_uri } = (
    found ??
    (
      await send("mlflow/runs/create", z.object({ run: runSchema }), {
        json: { experiment_id, run_name, start_time: createdAt, tags },
      })
    ).run
  ).info;
  const place = artifactPlace(artifact_uri, url);
  const created = status !== "FINISHED";
  const update = (to: string) =>
    send("mlflow/runs/update", ANY, { json: { run_id, status: to, end_time: createdAt } });
  if (created) {
    try {
      await logValues(send, run_id, output);
      for (const { name, bytes, type } of place === undefined ? [] : artifacts)
        await send(`mlflow-artifacts/artifacts/${place}/${encodeURIComponent(name)}`, ANY, { bytes, type });
    } catch (error) {
      if (error instanceof TrackerFailure && !error.isPassing) await update("FAILED").catch(() => undefined);
      throw error;
    }
    await update("FINISHED");
  }
  const page = `${url}/#/experiments/${experiment_id}/runs/${run_id}`;
  return { run_id, experiment, url: page, created, artifacts: place !== undefined };
}

/** Mostly one request. Repeating it changes nothing: its values are the same. */
async function logValues(send: Send, run_id: string, output: TrackedOutput): Promise<void> {
  const { params, metrics, createdAt: timestamp } = output;
  const values = metrics.flatMap(({ name: key, points }) =>
    points.map(({ step, value }) => ({ key, value, timestamp, step })),
  );
  for (let k = 0; k * BATCH.params < params.length || k * BATCH.metrics < values.length; k++) {
    const batch = {
      params: params.slice(k * BATCH.params, (k + 1) * BATCH.params),
      metrics: values.slice(k * BATCH.metrics, (k + 1) * BATCH.metrics),
    };
    await send("mlflow/runs/log-batch", ANY, { json: { run_id, ...batch } });
  }
}

/**
 * Where the server stores the artifacts of a run, as a path of its API; undefined if it expects its clients to write elsewhere, such as
 * directly to a bucket.
 */
function artifactPlace(uri: string, tracker: string): string | undefined {
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  const isServers = url?.protocol === "mlflow-artifacts:" && ["", new URL(tracker).host].includes(url.host);
  return isServers ? url.pathname.replace(/^\/+/, "") : undefined;
}

const ANY = z.looseObject({});

/**
 * Sends a request of MLflow's REST API 2.0. Follows no redirect, and shows no credential in an error.
 * @param path below `/api/2.0/`. @throws TrackerFailure; what its signal aborts with.
 */
type Send = <T>(
  path: string,
  schema: z.ZodType<T>,
  body?: { readonly json: object } | { readonly bytes: Uint8Array; readonly type: string },
) => Promise<T>;

function senderTo(tracker: Tracker, signal: AbortSignal, requestMs = REQUEST_MS): Send {
  const { url, authorization } = tracker;
  return async (path, schema, body) => {
    const isUpload = body !== undefined && "bytes" in body;
    const late = AbortSignal.timeout(requestMs);
    const headers = { "user-agent": `mucast/${MUCAST_VERSION}`, ...(authorization && { authorization }) };
    const type = isUpload ? body.type : "application/json";
    try {
      const answer = await fetch(`${url}/api/2.0/${path}`, {
        redirect: "manual",
        headers: { ...headers, ...(body && { "content-type": type }) },
        method: isUpload ? "PUT" : body === undefined ? "GET" : "POST",
        ...(body && { body: isUpload ? Buffer.from(body.bytes) : JSON.stringify(body.json) }),
        signal: isUpload ? signal : AbortSignal.any([signal, late]),
      });
      const text = await answer.text();
      if (answer.status !== 200) throw refusal(tracker, answer.status, text);
      // Artifacts are stored with an empty answer or {}, by version.
      const parsed = schema.safeParse(text === "" ? {} : jsonOf(text));
      if (parsed.success) return parsed.data;
      throw new TrackerFailure("it did not answer like MLflow, so it may not be an MLflow server");
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof TrackerFailure) throw error;
      if (late.aborted && !isUpload)
        throw new TrackerFailure(`no answer within ${requestMs} ms`, { isPassing: true });
      const { cause = error } = error as Error;
      // A certificate that is not trusted stays so.
      throw new TrackerFailure(failureOf(cause), { isPassing: !isTrustFailure(cause) });
    }
  };
}

function refusal({ secrets }: Tracker, status: number, text: string): TrackerFailure {
  if (status >= 300 && status < 400) {
    const advice = "redirects are not followed; set the URL at which the server itself answers";
    return new TrackerFailure(`it answered with a redirect (${status}), and ${advice}`);
  }
  const fault = z.object({ error_code: z.string(), message: z.string().optional() });
  const { error_code: code, message = "" } = fault.safeParse(jsonOf(text)).data ?? {};
  // The server gets the credentials with each request, and may repeat them.
  const hide = (shown: string, secret: string) => shown.replaceAll(secret, "…");
  const said = printable(
    secrets.reduce(hide, [code, message].filter(Boolean).join(": ")).slice(0, MAX_MESSAGE),
  );
  const isRight = status === 401 || status === 403;
  const advice = isRight ? "; the credentials may be missing or without the right to it" : "";
  return new TrackerFailure(`it answered ${status}${said && ` ${said}`}${advice}`, {
    isPassing: isPassingStatus(status),
    ...(code === undefined ? {} : { code }),
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
