import { globSync } from "node:fs";

/**
 * Test files that start a process, a server or a database; a path that ends with / is all below that folder. Every other
 * file is a fast test: where it starts something, the run refuses that and names this list.
 */
export const STARTING: readonly string[] = [
  "scripts/locked-python.test.ts",
  "scripts/parent.test.ts",
  "scripts/run.test.ts",
  "scripts/setup-lock.test.ts",
  "scripts/test-files.test.ts",
  "src/audit/run-audit.test.ts",
  "src/audit/truncation/truncation.test.ts",
  "src/blob/azure/azure-faults.test.ts",
  "src/blob/azure/azure-store.test.ts",
  "src/blob/folder/folder-store.test.ts",
  "src/blob/folder/staged-file.test.ts",
  "src/blob/folder/sweep-staged.test.ts",
  "src/blob/folder/write-output.test.ts",
  "src/blob/open-blob.test.ts",
  "src/blob/remote/guarded-agent.test.ts",
  "src/blob/remote/remote-blob-failures.test.ts",
  "src/blob/remote/remote-blob.test.ts",
  "src/cli/audit.test.ts",
  "src/cli/doctor.test.ts",
  "src/cli/export.test.ts",
  "src/cli/terminal/end-signal.test.ts",
  "src/cli/replay.test.ts",
  "src/cli/report.test.ts",
  "src/cli/run-job.test.ts",
  "src/cli/terminal/until-signal.test.ts",
  "src/client/client.test.ts",
  "src/client/follow-events.test.ts",
  "src/contract/machine/folders.test.ts",
  "src/contract/machine/process-stat.test.ts",
  "src/contract/machine/stopped-watch.test.ts",
  "src/engine/environment/build-folder.test.ts",
  "src/engine/environment/environment.test.ts",
  "src/engine/npy.test.ts",
  "src/engine/pool/cluster-endings.test.ts",
  "src/engine/pool/cluster.test.ts",
  "src/engine/pool/foreign-engine.test.ts",
  "src/engine/pool/pool.test.ts",
  "src/engine/pool/warm-host.test.ts",
  "src/executors/container-apps/adopt-execution.test.ts",
  "src/executors/container-apps/container-apps-executor.test.ts",
  "src/executors/container-apps/job-container.test.ts",
  "src/executors/container-apps/start-execution.test.ts",
  "src/executors/container-apps/watched-execution.test.ts",
  "src/executors/process/job-child.test.ts",
  "src/executors/process/job-deaths.test.ts",
  "src/executors/process/job-process.test.ts",
  "src/executors/process/memory-budget.test.ts",
  "src/executors/process/process-executor.test.ts",
  "src/executors/process/standby.test.ts",
  "src/executors/process/warm-process.test.ts",
  "src/jobs/dl/train-network.test.ts",
  "src/jobs/shared/read-inputs.test.ts",
  "src/jobs/shared/work-folder.test.ts",
  "src/panel/natural-log.test.ts",
  "src/replay/remote-inputs.test.ts",
  "src/replay/replay.test.ts",
  "src/service/auth/issuer-keys.test.ts",
  "src/service/auth/issuer-store.test.ts",
  "src/service/auth/key-store.test.ts",
  "src/service/auth/oidc-authenticate.test.ts",
  "src/service/blobs/stored-blobs.test.ts",
  "src/service/blobs/stored-removals.test.ts",
  "src/service/database/database.test.ts",
  "src/service/database/pglite-dump.test.ts",
  "src/service/database/pglite-faults.test.ts",
  "src/service/database/pglite-files.test.ts",
  "src/service/database/pglite.test.ts",
  "src/service/database/postgres.test.ts",
  "src/service/database/statement-queue.test.ts",
  "src/service/http/blobs/blob-routes.test.ts",
  "src/service/http/blobs/prepare-routes.test.ts",
  "src/service/http/blobs/read-blob.test.ts",
  "src/service/http/blobs/write-blob.test.ts",
  "src/service/http/guard/authorize-request.test.ts",
  "src/service/http/guard/caller-limits.test.ts",
  "src/service/http/guard/guard-requests.test.ts",
  "src/service/http/health-routes.test.ts",
  "src/service/http/key-routes.test.ts",
  "src/service/http/openapi/document.test.ts",
  "src/service/http/operations/event-routes.test.ts",
  "src/service/http/operations/job-routes.test.ts",
  "src/service/http/operations/operation-routes.test.ts",
  "src/service/http/page/console-routes.test.ts",
  "src/service/http/operations/report-routes.test.ts",
  "src/service/http/page/docs-page.test.ts",
  "src/service/http/queue-routes.test.ts",
  "src/service/http/request-scope.test.ts",
  "src/service/http/server/connection-limit.test.ts",
  "src/service/http/server/http-server.test.ts",
  "src/service/lock/data-lock.test.ts",
  "src/service/mcp/register-mcp.test.ts",
  "src/service/operations/fake-operations.test.ts",
  "src/service/operations/retention.test.ts",
  "src/service/operations/stored-operations.test.ts",
  "src/service/preparation/store-together.test.ts",
  "src/service/queue/dispatcher.test.ts",
  "src/service/queue/lease-recovery.test.ts",
  "src/service/queue/losses.test.ts",
  "src/service/readiness.test.ts",
  "src/service/request-process/run-process.test.ts",
  "src/service/store/claim-operation.test.ts",
  "src/service/store/record-progress.test.ts",
  "src/service/store/report-links.test.ts",
  "src/service/telemetry/line-writer.test.ts",
  "src/service/telemetry/log.test.ts",
  "src/service/telemetry/traces.test.ts",
  "src/service/webhooks/deliverer.test.ts",
  "src/service/webhooks/post-event.test.ts",
  "test/browser/",
  "test/deployment/healthcheck.test.ts",
  "test/deployment/kubernetes.test.ts",
  "test/deployment/ray-cluster.test.ts",
  "test/deployment/read-only-root.test.ts",
  "test/docs/",
  "test/end-to-end/",
  "test/examples.test.ts",
  "test/fuzz/",
  "test/model-params.test.ts",
  "test/openapi/",
  "test/package.test.ts",
  "test/planted-signals.test.ts",
  "test/portfolio.test.ts",
  "test/planted-warnings.test.ts",
  "test/servers/",
  "test/service/",
  "test/twins/multiple-comparisons.test.ts",
];

/** Test files that start nothing, and compute for many seconds. */
export const COMPUTING: readonly string[] = [
  "src/ingest/memory.test.ts",
  "src/ingest/layouts/layouts.test.ts",
  "src/ingest/json/json-reader.test.ts",
];

/**
 * Slow files that take longest, the longest first: they are begun first, so that no core waits for one of them at the
 * end. A file that is not here is begun after them.
 */
export const LONGEST: readonly string[] = [
  "test/end-to-end/every-model.test.ts",
  "test/service/core.test.ts",
  "test/browser/console.test.ts",
  "src/engine/pool/foreign-engine.test.ts",
  "src/engine/pool/pool.test.ts",
  "test/service/stops.test.ts",
  "test/service/restarts.test.ts",
  "test/package.test.ts",
  "test/planted-signals.test.ts",
  "src/service/store/record-progress.test.ts",
  "test/end-to-end/azure-storage.test.ts",
  "test/browser/console-forms.test.ts",
  "src/service/queue/lease-recovery.test.ts",
  "test/browser/report.test.ts",
  "test/end-to-end/replay-elsewhere.test.ts",
  "src/audit/run-audit.test.ts",
  "src/executors/process/warm-process.test.ts",
  "test/docs/docs.test.ts",
  "test/service/mcp-stdio.test.ts",
  "test/openapi/openapi.test.ts",
  "test/fuzz/model-params.test.ts",
  "src/service/queue/dispatcher.test.ts",
  "test/service/full-disk.test.ts",
  "test/service/shared-database.test.ts",
  "src/cli/doctor.test.ts",
  "src/executors/process/job-deaths.test.ts",
  "test/end-to-end/killed-processes.test.ts",
  "test/service/one-holder.test.ts",
  "src/executors/process/job-process.test.ts",
  "src/ingest/memory.test.ts",
  "src/engine/pool/warm-host.test.ts",
  "test/service/secrets.test.ts",
  "test/service/signals.test.ts",
  "src/executors/container-apps/job-container.test.ts",
];

/**
 * Slow files that share a process, and in it what takes longer to start than most of their tests: the modules of the
 * service, PGlite's compiled code, or the engines of test/end-to-end/shared-engines.ts. A path that ends with / is all
 * slow files below that folder. Their `before` and `after` outside of a `describe` are those of the whole process.
 */
export const TOGETHER: readonly (readonly string[])[] = [
  [
    "test/end-to-end/every-model.test.ts",
    "test/end-to-end/every-network.test.ts",
    "test/end-to-end/failing-tickers.test.ts",
    "test/end-to-end/joint-networks.test.ts",
    "test/end-to-end/network-bytes.test.ts",
    "test/end-to-end/network-ensembles.test.ts",
    "test/end-to-end/network-processes.test.ts",
    "test/end-to-end/network-scalers.test.ts",
    "test/end-to-end/networks-see-no-future.test.ts",
    "test/end-to-end/panel-jobs.test.ts",
    "test/end-to-end/panel-settings.test.ts",
    "test/end-to-end/refused-ml-jobs.test.ts",
    "test/end-to-end/refused-network-jobs.test.ts",
    "test/end-to-end/warned-jobs.test.ts",
    "test/end-to-end/what-changes-nothing.test.ts",
    "test/planted-warnings.test.ts",
  ],
  [
    "src/service/auth/",
    "src/service/blobs/",
    "src/service/operations/",
    "src/service/preparation/",
    "src/service/readiness.test.ts",
    "src/service/store/",
  ],
  // They make the same environment of Python.
  ["test/deployment/kubernetes.test.ts", "test/deployment/ray-cluster.test.ts"],
  ["src/service/queue/dispatcher.test.ts", "src/service/webhooks/deliverer.test.ts"],
  ["src/audit/", "test/end-to-end/audit-foresight-skill.test.ts"],
  ["src/service/database/"],
  ["src/service/http/"],
  ["src/blob/folder/", "src/blob/open-blob.test.ts", "src/blob/remote/"],
  [
    "src/executors/container-apps/adopt-execution.test.ts",
    "src/executors/container-apps/container-apps-executor.test.ts",
    "src/executors/container-apps/start-execution.test.ts",
    "src/executors/container-apps/watched-execution.test.ts",
  ],
  ["src/replay/remote-inputs.test.ts", "src/replay/replay.test.ts"],
  ["src/client/", "src/contract/", "src/engine/npy.test.ts", "src/jobs/shared/"],
];

export function startsSomething(file: string): boolean {
  return isListed(file, STARTING);
}

/** The slow files by process. @throws Error where a list names what is not there. */
export function testFiles(): {
  readonly fast: readonly string[];
  readonly slow: readonly (readonly string[])[];
} {
  const all = globSync(["src/**/*.test.ts", "test/**/*.test.ts", "scripts/**/*.test.ts"]).sort();
  const listed = [...STARTING, ...COMPUTING];
  const missing = [...listed, ...LONGEST, ...TOGETHER.flat()].filter(
    (entry) => !all.some((file) => isListed(file, [entry])),
  );
  if (missing.length > 0) throw new Error(`scripts/slow-tests.ts names no test file by ${missing}`);
  return {
    fast: all.filter((file) => !isListed(file, listed)),
    slow: byProcess(longestFirst(all.filter((file) => isListed(file, listed)))),
  };
}

/** In the order of the first file of each process. */
function byProcess(files: readonly string[]): readonly (readonly string[])[] {
  const processOf = (file: string) => TOGETHER.find((group) => isListed(file, group)) ?? file;
  return [...Map.groupBy(files, processOf).values()];
}

function longestFirst(files: readonly string[]): readonly string[] {
  const longest = LONGEST.filter((file) => files.includes(file));
  return [...longest, ...files.filter((file) => !longest.includes(file))];
}

function isListed(file: string, entries: readonly string[]): boolean {
  return entries.some((entry) => (entry.endsWith("/") ? file.startsWith(entry) : file === entry));
}
