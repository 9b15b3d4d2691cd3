import { z } from "zod";
import { type ClientLimits, MlflowClient, TrackerFailure, trackingFailed } from "./mlflow-client.ts";
import { MLFLOW_LIMITS } from "./mlflow-names.ts";
import { OUTPUT_TAG } from "./run-tags.ts";
import type { TrackedOutput } from "./tracked-output.ts";
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

/** What an answer says about a run. Values that later requests contain are checked, because the server may be another one. */
const runSchema = z.object({
  run_id: z.string().regex(/^[a-zA-Z0-9][\w-]{0,255}$/),
  status: z.string().max(30),
  artifact_uri: z.string().max(2_000),
});
type RunInfo = z.infer<typeof runSchema>;

const experimentId = z.string().regex(/^[a-zA-Z0-9][\w-]{0,63}$/);
const experimentAnswer = z.object({
  experiment: z.object({ experiment_id: experimentId, lifecycle_stage: z.string().optional() }),
});
const createdExperiment = z.object({ experiment_id: experimentId });
const createdRun = z.object({ run: z.object({ info: runSchema }) });
const foundRuns = z.object({ runs: z.array(z.object({ info: runSchema })).optional() });

/** The number of attempts to create a run; before each, an earlier attempt's run is looked for. */
const CREATIONS = 3;

/** How long an export may take, and limits of its requests. */
export interface TrackingLimits extends Partial<ClientLimits> {
  readonly totalMs: number;
}

/**
 * Records an output as a run: params, metrics and tags, then the output and its report as artifacts. Completes the run that an earlier
 * export of the same output began, and sends nothing if it is complete.
 * @throws MucastError tracking_failed, with `passing` if a later export may succeed; what the signal aborts with.
 */
export async function trackRun(
  output: TrackedOutput,
  tracker: Tracker,
  signal: AbortSignal,
  { totalMs, ...limits }: TrackingLimits,
): Promise<TrackedRun> {
  const late = AbortSignal.timeout(totalMs);
  const client = new MlflowClient(tracker, AbortSignal.any([signal, late]), limits);
  try {
    return await new RunRecord(client, output).record();
  } catch (error) {
    signal.throwIfAborted();
    const failure = late.aborted
      ? new TrackerFailure(`it took longer than ${totalMs / 1_000} s`, { isPassing: true })
      : error;
    throw failure instanceof TrackerFailure ? trackingFailed(tracker, failure) : failure;
  } finally {
    client.close();
  }
}

/**
 * Checks that a tracker answers, and accepts the credentials.
 * @throws MucastError tracking_failed; what the signal aborts with.
 */
export async function checkTracker(tracker: Tracker, signal: AbortSignal): Promise<void> {
  const client = new MlflowClient(tracker, signal);
  try {
    await findExperiment(client, tracker.experiment);
  } catch (error) {
    throw error instanceof TrackerFailure ? trackingFailed(tracker, error) : error;
  } finally {
    client.close();
  }
}

class RunRecord {
  readonly #client: MlflowClient;
  readonly #output: TrackedOutput;

  constructor(client: MlflowClient, output: TrackedOutput) {
    this.#client = client;
    this.#output = output;
  }

  async record(): Promise<TrackedRun> {
    const { url, experiment } = this.#client.tracker;
    const id = await findOrCreateExperiment(this.#client);
    const run = await this.#findOrCreate(id);
    const place = artifactPlace(run.artifact_uri, url);
    const created = run.status !== "FINISHED";
    if (created) await this.#complete(run.run_id, place);
    const page = `${url}/#/experiments/${id}/runs/${run.run_id}`;
    return { run_id: run.run_id, experiment, url: page, created, artifacts: place !== undefined };
  }

  async #complete(run_id: string, place: string | undefined): Promise<void> {
    try {
      await this.#logValues(run_id);
      if (place !== undefined) await this.#upload(place);
    } catch (error) {
      if (error instanceof TrackerFailure && !error.isPassing) await this.#markFailed(run_id);
      throw error;
    }
    await this.#update(run_id, "FINISHED");
  }

  /** A request to create a run may have succeeded although its answer was lost, so it is not simply repeated. */
  async #findOrCreate(experiment: string): Promise<RunInfo> {
    for (let creation = 1; ; creation++) {
      const found = await this.#find(experiment);
      if (found !== undefined) return found;
      try {
        return await this.#create(experiment);
      } catch (error) {
        const isPassing = error instanceof TrackerFailure && error.isPassing;
        if (!isPassing || creation === CREATIONS) throw error;
      }
    }
  }

  /** @returns a complete run, if there are several. */
  async #find(experiment: string): Promise<RunInfo | undefined> {
    const filter = `tags."${OUTPUT_TAG}" = '${this.#output.sha256}'`;
    const search = { experiment_ids: [experiment], filter, run_view_type: "ACTIVE_ONLY", max_results: 10 };
    const { runs = [] } = checked(foundRuns, await this.#client.post("runs/search", search));
    return (runs.find(({ info }) => info.status === "FINISHED") ?? runs[0])?.info;
  }

  async #create(experiment_id: string): Promise<RunInfo> {
    const { name: run_name, createdAt: start_time, tags } = this.#output;
    const answer = await this.#client.post("runs/create", { experiment_id, run_name, start_time, tags }, 1);
    return checked(createdRun, answer).run.info;
  }

  /** Repeating a batch changes nothing: its values are the same. */
  async #logValues(run_id: string): Promise<void> {
    const { params, metrics, createdAt: timestamp } = this.#output;
    const values = metrics.flatMap(({ name: key, points }) =>
      points.map(({ step, value }) => ({ key, value, timestamp, step })),
    );
    for (const batch of batches(params, MLFLOW_LIMITS.params)) {
      await this.#client.post("runs/log-batch", { run_id, params: batch });
    }
    for (const batch of batches(values, MLFLOW_LIMITS.metrics)) {
      await this.#client.post("runs/log-batch", { run_id, metrics: batch });
    }
  }

  async #upload(place: string): Promise<void> {
    for (const { name, bytes, type } of this.#output.artifacts) {
      await this.#client.upload(`${place}/${encodeURIComponent(name)}`, bytes, type);
    }
  }

  async #update(run_id: string, status: string): Promise<void> {
    await this.#client.post("runs/update", { run_id, status, end_time: this.#output.createdAt });
  }

  async #markFailed(run_id: string): Promise<void> {
    try {
      await this.#update(run_id, "FAILED");
    } catch (error) {
      // The refusal is the error; without this mark, the run stays RUNNING.
      if (!(error instanceof TrackerFailure)) throw error;
    }
  }
}

async function findOrCreateExperiment(client: MlflowClient): Promise<string> {
  const { experiment: experiment_name } = client.tracker;
  const found = await findExperiment(client, experiment_name);
  if (found !== undefined) return found;
  try {
    return checked(createdExperiment, await client.post("experiments/create", { name: experiment_name }))
      .experiment_id;
  } catch (error) {
    // Another export may have created it in the meantime, or this one at an attempt whose answer was lost.
    if (!(error instanceof TrackerFailure) || error.word !== "RESOURCE_ALREADY_EXISTS") throw error;
    const other = await findExperiment(client, experiment_name);
    if (other === undefined) throw error;
    return other;
  }
}

async function findExperiment(client: MlflowClient, experiment_name: string): Promise<string | undefined> {
  try {
    const answer = await client.get("experiments/get-by-name", { experiment_name });
    const { experiment_id, lifecycle_stage } = checked(experimentAnswer, answer).experiment;
    if (lifecycle_stage !== "deleted") return experiment_id;
    throw new TrackerFailure(
      `its experiment ${JSON.stringify(experiment_name)} is deleted; restore it, or set MLFLOW_EXPERIMENT_NAME to another name`,
    );
  } catch (error) {
    if (error instanceof TrackerFailure && error.word === "RESOURCE_DOES_NOT_EXIST") return undefined;
    throw error;
  }
}

/**
 * Where the server stores the artifacts of a run, as a path of its API; undefined if it expects its clients to write elsewhere, such as
 * directly to a bucket.
 */
function artifactPlace(uri: string, tracker: string): string | undefined {
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  if (url?.protocol !== "mlflow-artifacts:" || (url.host !== "" && url.host !== new URL(tracker).host)) {
    return undefined;
  }
  const place = url.pathname.replace(/^\/+/, "");
  return /^[\w-][\w.-]*(\/[\w-][\w.-]*)*$/.test(place) ? place : undefined;
}

function* batches<T>(values: readonly T[], most: number): Generator<readonly T[]> {
  for (let from = 0; from < values.length; from += most) yield values.slice(from, from + most);
}

function checked<T>(schema: z.ZodType<T>, answer: unknown): T {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw new TrackerFailure(
    "its answer does not have the form of MLflow's, so it may not be an MLflow server",
  );
}
