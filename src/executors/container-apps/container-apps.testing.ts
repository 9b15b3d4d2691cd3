import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { StatusBlob } from "../../contract/output/job-events.ts";
import type { JobOrder } from "../executor.ts";
import { RecordingListener } from "../executor-suite.testing.ts";
import { ContainerAppsExecutor, type ContainerAppsOptions } from "./container-apps-executor.ts";
import { FakeManagementApi } from "./fake-management-api.testing.ts";

export const ORDER: JobOrder = {
  id: "op-1",
  attempt: 1,
  operation: "run_ml_job",
  featureUrl: "https://account.example/c/data/feature_engine_1.json?sv=1&sig=SAS-SECRET",
  dataExtractorUrl: "https://account.example/c/data/data_extractor_1.json?sv=1&sig=SAS-SECRET",
  config: '{"ML params": {"model": "ridge"}}',
  workers: 2,
};

/** A job as the API returns it: a second container beside ours, secrets by reference, and an init container. */
export const JOB = {
  name: "ml-worker-job",
  location: "here",
  properties: {
    template: {
      initContainers: [{ name: "first", image: "registry/first:1", env: [{ name: "A", value: "1" }] }],
      containers: [
        { name: "proxy", image: "registry/proxy:2", env: [{ name: "B", value: "2" }] },
        {
          name: "ml-worker-job",
          image: "registry/mucast:0.1.0",
          command: ["mucast"],
          args: ["run_ml_job", "--log", "json"],
          env: [
            { name: "BLOB_URL", value: "https://account.example/c" },
            { name: "PASSWORD", secretRef: "password" },
            { name: "CONFIG", value: "left over" },
          ],
          resources: { cpu: 2, memory: "4Gi" },
        },
      ],
    },
  },
};

/** Everything around an executor: the fake API, the status blobs as a map, and the executor's reports. */
export class Stage extends RecordingListener {
  readonly api: FakeManagementApi;
  readonly statuses = new Map<string, StatusBlob>();
  readonly troubles: string[] = [];
  readonly #executors: ContainerAppsExecutor[] = [];

  private constructor(api: FakeManagementApi) {
    super();
    this.api = api;
  }

  /** The caller closes it. */
  static async open(): Promise<Stage> {
    const stage = new Stage(await FakeManagementApi.open());
    for (const name of ["ml-worker-job", "dl-job"]) stage.api.jobs.set(name, JOB);
    return stage;
  }

  async close(): Promise<void> {
    for (const executor of this.#executors) await executor.close();
    await this.api.close();
  }

  async executor(options: Partial<ContainerAppsOptions> = {}): Promise<ContainerAppsExecutor> {
    const executor = await ContainerAppsExecutor.open({
      subscription: "sub-1",
      resourceGroup: "group-1",
      container: "https://account.example/c",
      credential: this.api.credential,
      client: this.api.client,
      pollMs: 2,
      readStatus: async (id, attempt) => this.statuses.get(`${id}.${attempt}`),
      onPollFailed: (message) => this.troubles.push(message),
      ...options,
    });
    this.#executors.push(executor);
    return executor;
  }

  /** Writes an attempt's status blob. */
  say(status: Partial<StatusBlob>, { id, attempt } = ORDER): void {
    this.statuses.set(`${id}.${attempt}`, {
      schema: "mucast.status/1",
      id,
      attempt,
      config_sha256: "0".repeat(64),
      updated_at: "2026-01-01T00:00:00.000Z",
      progress: null,
      warnings: [],
      timings: [],
      end: null,
      ...status,
    });
  }

  /** Waits until `condition` holds; local work or the fake can make it true. */
  async until(condition: () => boolean): Promise<void> {
    const end = Date.now() + MAX_WAIT_MS;
    while (!condition()) {
      assert.ok(Date.now() < end, `never came true: ${condition}`);
      await pause(1);
    }
  }
}

/** After this time, a test that waits for something that never happens fails, so that its file ends. */
export const MAX_WAIT_MS = 600_000;

export const RECORD = {
  status: "Succeeded",
  output_url: "https://account.example/c/data/ml_engine_op-1.json",
  output_name: "ml_engine_op-1.json",
  execution_name: "ml-worker-job-abc",
} as const;
