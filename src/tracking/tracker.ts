import { z } from "zod";
import { failureOf, isPassingStatus, isTrustFailure } from "../blob/remote/remote-request.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { invalidRequest } from "../contract/errors/faults.ts";
import { printable } from "../contract/errors/wording.ts";
import {
  DEFAULT_EXPERIMENT,
  exposesCredentials,
  MAX_EXPERIMENT_NAME,
  TRACKER_VARIABLES,
  trackerUrlFault,
} from "../contract/tracker-url.ts";
import { MUCAST_VERSION } from "../contract/version.ts";
import { OUTPUT_TAG, type TrackedOutput } from "./tracked-output.ts";

export type Tracker = NonNullable<ReturnType<typeof trackerOf>>;

/** A user name with a password takes precedence over a token, as in MLflow's own clients. `secrets` are texts that no message may show. */
export function trackerOf(env: Readonly<Record<string, string | undefined>>) {
  const names = TRACKER_VARIABLES;
  const check = (path: string, fault: string | false | undefined) => {
    if (fault) throw invalidRequest([{ path, message: fault }]);
  };
  const text = env[names.url]?.trim() ?? "";
  if (text === "") return undefined;
  check(names.url, trackerUrlFault(text));
  const url = new URL(text).href.replace(/\/+$/, "");
  const experiment = env[names.experiment]?.trim() || DEFAULT_EXPERIMENT;
  const isLong = experiment.length > MAX_EXPERIMENT_NAME;
  check(names.experiment, isLong && `must have at most ${MAX_EXPERIMENT_NAME} characters`);
  const [user, password, token] = [env[names.username], env[names.password], env[names.token]?.trim()];
  const isBasic = Boolean(user && password);
  const secret = isBasic ? password : token;
  if (!secret) return { url, experiment, authorization: undefined, secrets: [] };
  const unencrypted = `is only sent over https, or to this machine: use the https URL of the server in ${names.url}`;
  check(isBasic ? names.password : names.token, exposesCredentials(url) && unencrypted);
  const encoded = isBasic ? Buffer.from(`${user}:${password}`).toString("base64") : secret;
  const odd = "has a character that no HTTP header may have; its value is not shown";
  check(names.token, !/^[\x21-\x7e]+$/.test(encoded) && odd);
  // A server may repeat a secret, as it is or as it stands in a URL or in JSON.
  const spellings = [secret, encodeURIComponent(secret.toWellFormed()), JSON.stringify(secret).slice(1, -1)];
  const authorization = `${isBasic ? "Basic" : "Bearer"} ${encoded}`;
  return { url, experiment, authorization, secrets: [...new Set([...spellings, encoded])] };
}

export type TrackedRun = Awaited<ReturnType<typeof trackRun>>;

/** One request may have 1,000 metrics and 100 params, and together 1,000 of both. */
const BATCH = { metrics: 900, params: 100 };

const ANY = z.looseObject({});
const runSchema = z.object({
  info: z.object({ run_id: z.string(), status: z.string(), artifact_uri: z.string() }),
});

/** Completes the run that an earlier export of the same output began. Repeats no request: the caller exports again. */
export async function trackRun(
  output: TrackedOutput,
  tracker: Tracker,
  signal: AbortSignal,
  /** How long it may take, and each of its requests but an upload. */
  { totalMs, requestMs }: { readonly totalMs: number; readonly requestMs?: number },
) {
  const late = AbortSignal.timeout(totalMs);
  const send = senderTo(tracker, AbortSignal.any([signal, late]), requestMs);
  const { sha256, name: run_name, createdAt: time, params, metrics, tags, artifacts } = output;
  try {
    const experiment_id = await findExperiment(send, tracker, true);
    const filter = `tags."${OUTPUT_TAG}" = '${sha256}'`;
    const search = { experiment_ids: [experiment_id], filter, run_view_type: "ACTIVE_ONLY", max_results: 10 };
    const found = z.object({ runs: z.array(runSchema).optional() });
    const { runs = [] } = await send("mlflow/runs/search", found, search);
    let run = runs.find(({ info }) => info.status === "FINISHED") ?? runs[0];
    if (run === undefined) {
      const first = { experiment_id, run_name, start_time: time, tags };
      ({ run } = await send("mlflow/runs/create", z.object({ run: runSchema }), first));
    }
    const { run_id, status, artifact_uri } = run.info;
    const uri = URL.canParse(artifact_uri) ? new URL(artifact_uri) : undefined;
    // Other servers expect their clients to write elsewhere, such as directly to a bucket.
    const keepsArtifacts =
      uri?.protocol === "mlflow-artifacts:" && ["", new URL(tracker.url).host].includes(uri.host);
    const place = keepsArtifacts ? uri.pathname.replace(/^\/+/, "") : undefined;
    const update = (to: string) => send("mlflow/runs/update", ANY, { run_id, status: to, end_time: time });
    const created = status !== "FINISHED";
    if (created) {
      try {
        // Repeating it changes nothing: the values are the same.
        const values = metrics.flatMap(({ name: key, points }) =>
          points.map((point) => ({ key, timestamp: time, ...point })),
        );
        for (let k = 0; k * BATCH.params < params.length || k * BATCH.metrics < values.length; k++) {
          await send("mlflow/runs/log-batch", ANY, {
            run_id,
            params: params.slice(k * BATCH.params, (k + 1) * BATCH.params),
            metrics: values.slice(k * BATCH.metrics, (k + 1) * BATCH.metrics),
          });
        }
        for (const file of place === undefined ? [] : artifacts)
          await send(`mlflow-artifacts/artifacts/${place}/${encodeURIComponent(file.name)}`, ANY, file);
      } catch (error) {
        const isFinal = error instanceof MucastError && error.data.passing === false;
        if (isFinal) await update("FAILED").catch(() => undefined);
        throw error;
      }
      await update("FINISHED");
    }
    const url = `${tracker.url}/#/experiments/${experiment_id}/runs/${run_id}`;
    return { run_id, experiment: tracker.experiment, url, created, artifacts: place !== undefined };
  } catch (error) {
    signal.throwIfAborted();
    throw late.aborted ? trackingFailed(tracker, `it took longer than ${totalMs / 1_000} s`) : error;
  }
}

/** @param passing whether the tracker may record the run later: it is away, slow, overloaded or broken. */
export function trackingFailed({ url }: Tracker, why: string, passing = true): MucastError {
  const message = `the run could not be recorded at ${url}: ${why}`;
  return new MucastError("tracking_failed", message, { source: url, passing });
}

/** The id of the experiment. @param creates whether it is created if it does not exist. */
async function findExperiment(send: Send, tracker: Tracker, creates: boolean): Promise<string | undefined> {
  const name = tracker.experiment;
  const path = `mlflow/experiments/get-by-name?${new URLSearchParams({ experiment_name: name })}`;
  const found = z.object({ experiment_id: z.string(), lifecycle_stage: z.string().optional() }).optional();
  const schema = z.object({ experiment: found });
  const { experiment } = await send(path, schema, undefined, "RESOURCE_DOES_NOT_EXIST");
  if (experiment?.lifecycle_stage === "deleted") {
    const advice = "restore it, or set MLFLOW_EXPERIMENT_NAME to another name";
    throw trackingFailed(tracker, `its experiment ${JSON.stringify(name)} is deleted; ${advice}`, false);
  }
  if (experiment !== undefined || !creates) return experiment?.experiment_id;
  const create = "mlflow/experiments/create";
  const created = z.object({ experiment_id: z.string().optional() });
  const { experiment_id } = await send(create, created, { name }, "RESOURCE_ALREADY_EXISTS");
  // Another export has created it in the meantime.
  return experiment_id ?? findExperiment(send, tracker, false);
}

/**
 * Sends a request of MLflow's REST API 2.0. Follows no redirect, and shows no credential in an error.
 * @param path below `/api/2.0/`. @param body a file to upload, or an object for JSON. @param expected an error code that is an answer, too.
 */
type Send = <T>(path: string, schema: z.ZodType<T>, body?: object, expected?: string) => Promise<T>;

const faultSchema = z.object({ error_code: z.string(), message: z.string().optional() });

function senderTo(tracker: Tracker, signal: AbortSignal, requestMs = 30_000): Send {
  const { url, authorization } = tracker;
  return async (path, schema, body, expected) => {
    const isUpload = body instanceof Blob;
    const sent = isUpload ? body : body && new Blob([JSON.stringify(body)], { type: "application/json" });
    const late = AbortSignal.timeout(requestMs);
    const headers = { "user-agent": `mucast/${MUCAST_VERSION}`, ...(authorization && { authorization }) };
    try {
      const answer = await fetch(`${url}/api/2.0/${path}`, {
        redirect: "manual",
        headers,
        method: isUpload ? "PUT" : body === undefined ? "GET" : "POST",
        ...(sent && { body: sent }),
        signal: isUpload ? signal : AbortSignal.any([signal, late]),
      });
      // Artifacts are stored with an empty answer or {}, by version.
      const text = (await answer.text()) || "{}";
      const json: unknown = await new Response(text).json().catch(() => undefined);
      const fault = faultSchema.safeParse(json).data;
      const parsed = schema.safeParse(json);
      if (parsed.success && (answer.status === 200 || (fault && fault.error_code === expected)))
        return parsed.data;
      throw refusal(tracker, answer.status, fault);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof MucastError) throw error;
      if (late.aborted && !isUpload) throw trackingFailed(tracker, `no answer within ${requestMs} ms`);
      const { cause = error } = error as Error;
      // A certificate that is not trusted stays so.
      throw trackingFailed(tracker, failureOf(cause), !isTrustFailure(cause));
    }
  };
}

function refusal(tracker: Tracker, status: number, fault: z.infer<typeof faultSchema> | undefined) {
  const words = [fault?.error_code, fault?.message].filter(Boolean).join(": ");
  // The server gets the credentials with each request, and may repeat them.
  const said = tracker.secrets.reduce((text, secret) => text.replaceAll(secret, "…"), words);
  let advice = "";
  if (status === 200) advice = ", but not like MLflow, so it may not be an MLflow server";
  else if (status < 400)
    advice = "; redirects are not followed, so set the URL at which the server itself answers";
  else if (status === 401 || status === 403)
    advice = "; the credentials may be missing or without the right to it";
  const why = `it answered ${status}${said && ` ${printable(said.slice(0, 300))}`}${advice}`;
  return trackingFailed(tracker, why, isPassingStatus(status));
}
