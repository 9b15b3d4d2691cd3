import assert from "node:assert/strict";
import type { MlflowServer } from "../servers/mlflow.testing.ts";

/** A run, as the server returns it. */
export interface RecordedRun {
  readonly id: string;
  readonly status: string;
  readonly name: string;
  readonly params: Readonly<Record<string, string>>;
  readonly tags: Readonly<Record<string, string>>;
  /** The last values. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** The runs of an experiment; none if it does not exist. */
export async function recordedRuns(
  server: MlflowServer,
  experiment = "mucast",
  filter = "",
): Promise<RecordedRun[]> {
  const query = new URLSearchParams({ experiment_name: experiment });
  const found = await server.call(`mlflow/experiments/get-by-name?${query}`);
  if (found.status === 404) return [];
  const { experiment_id } = ((await found.json()) as { experiment: { experiment_id: string } }).experiment;
  const answer = await server.call("mlflow/runs/search", { experiment_ids: [experiment_id], filter });
  assert.equal(answer.status, 200);
  const { runs = [] } = (await answer.json()) as { runs?: readonly SearchedRun[] };
  return runs.map(({ info, data }) => ({
    id: info.run_id,
    status: info.status,
    name: info.run_name,
    params: byKey(data.params),
    tags: byKey(data.tags),
    metrics: byKey(data.metrics),
  }));
}

/** The values of a metric by step. */
export async function metricHistory(server: MlflowServer, run_id: string, metric_key: string) {
  const query = new URLSearchParams({ run_id, metric_key });
  const answer = await server.call(`mlflow/metrics/get-history?${query}`);
  const { metrics } = (await answer.json()) as { metrics: readonly { step: number; value: number }[] };
  return metrics.map(({ step, value }) => ({ step, value })).toSorted((a, b) => a.step - b.step);
}

/** The artifacts of a run by name. */
export async function storedArtifacts(server: MlflowServer, run_id: string): Promise<Map<string, Buffer>> {
  const answer = await server.call(`mlflow/artifacts/list?${new URLSearchParams({ run_id })}`);
  const { files } = (await answer.json()) as { files: readonly { path: string }[] };
  const read = files.map(async ({ path }) => {
    const query = new URLSearchParams({ run_id, path });
    const file = await server.read(`/get-artifact?${query}`);
    return [path, Buffer.from(await file.arrayBuffer())] as const;
  });
  return new Map(await Promise.all(read));
}

interface SearchedRun {
  readonly info: { readonly run_id: string; readonly status: string; readonly run_name: string };
  readonly data: {
    readonly params?: readonly Entry<string>[];
    readonly tags?: readonly Entry<string>[];
    readonly metrics?: readonly Entry<number>[];
  };
}

interface Entry<T> {
  readonly key: string;
  readonly value: T;
}

/** An answer omits an empty list, as of a run that has just begun. */
function byKey<T>(entries: readonly Entry<T>[] = []): Record<string, T> {
  return Object.fromEntries(entries.map(({ key, value }) => [key, value]));
}
