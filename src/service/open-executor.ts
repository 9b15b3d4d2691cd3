import type { BlobStore } from "../blob/store.ts";
import { DEFAULT_BLOB_LIMITS, limitsEnv } from "../contract/blob-limits.ts";
import { clusterOf, engineEnv } from "../contract/engine-url.ts";
import type { Executor } from "../executors/executor.ts";
import { readStatus } from "../executors/status-blobs.ts";
import type { StorageAccess } from "./blobs/storage.ts";
import type { ServiceSettings } from "./settings/load-settings.ts";
import type { Log } from "./telemetry/log.ts";

/** The executor of the settings; its modules, and Azure's, are loaded only if they are used. */
export async function openExecutor(
  settings: ServiceSettings,
  env: NodeJS.ProcessEnv,
  { store, access }: { readonly store: BlobStore; readonly access: StorageAccess },
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
