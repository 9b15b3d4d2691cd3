/**
 * The release tier in groups, each with the paths that it covers: `.ci/run` runs the groups that the last commit concerns, and
 * `npm run test:release` all of them. Slow files that are also listed here run with all their cases in this tier
 * (test/whole-matrix.testing.ts).
 */
import { execFileSync } from "node:child_process";

export interface ReleaseGroup {
  readonly name: string;
  /** Test files by process. */
  readonly processes: readonly (readonly string[])[];
  /** A change below one of them concerns the group; a path that ends with / is a folder. */
  readonly paths: readonly string[];
  /** Whether it includes the tests of the engine that are marked `release`. */
  readonly hasEngineTests?: boolean;
  /** Its duration on two otherwise idle cores. */
  readonly seconds: number;
}

/** They run in this order, and are skipped if time is short. */
export const RELEASE_GROUPS: readonly ReleaseGroup[] = [
  {
    name: "docs",
    processes: [
      ["test/docs/docs.release.test.ts"],
      // They use the same Python environment.
      ["test/portfolio.release.test.ts", "test/python-client/notebook.release.test.ts"],
    ],
    paths: [
      "README.md",
      "docs/",
      "examples/",
      "clients/python/",
      "src/cli/",
      "src/export/",
      "src/choose/",
      "test/docs/",
    ],
    seconds: 45,
  },
  {
    name: "openapi",
    processes: [["test/openapi/openapi.release.test.ts"]],
    paths: ["src/service/http/", "schemas/", "tools/openapi-linters/", "test/openapi/"],
    seconds: 15,
  },
  {
    name: "python-client",
    processes: [
      ["test/python-client/fake-service.release.test.ts"],
      ["test/python-client/python-client.release.test.ts"],
      ["test/python-client/wheel.release.test.ts"],
    ],
    paths: ["clients/python/", "schemas/", "src/service/http/", "test/python-client/"],
    seconds: 40,
  },
  {
    name: "browser",
    processes: [
      [
        "test/browser/console-operations.release.test.ts",
        "test/browser/console-accessibility.release.test.ts",
        "test/browser/console-lists.release.test.ts",
        "test/browser/console-run-page.release.test.ts",
        "test/browser/console-sessions.release.test.ts",
      ],
      [
        "test/browser/console-forms.release.test.ts",
        "test/browser/console-form-accessibility.release.test.ts",
        "test/browser/console-uploads.release.test.ts",
      ],
      ["test/browser/report.release.test.ts", "test/browser/notebook-report.release.test.ts"],
      ["test/browser/console-job-data.release.test.ts"],
      ["test/browser/docs.release.test.ts"],
    ],
    paths: [
      "src/console/",
      "src/view/",
      "src/report/",
      "src/service/http/",
      "web/",
      "tools/browser/",
      "test/browser/",
    ],
    seconds: 60,
  },
  {
    name: "deployment",
    processes: [
      // They create the same Python environment.
      [
        "test/deployment/kubernetes.release.test.ts",
        "test/deployment/overlays.release.test.ts",
        "test/deployment/ray-cluster.release.test.ts",
      ],
      ["test/deployment/read-only-root.release.test.ts"],
      ["test/deployment/healthcheck.release.test.ts"],
    ],
    paths: ["Dockerfile", "infra/", "bin/", "test/deployment/"],
    seconds: 25,
  },
  {
    name: "azure",
    processes: [
      ["test/end-to-end/jobs/azure-storage.release.test.ts"],
      ["src/blob/azure/azure-store.release.test.ts"],
      ["src/blob/azure/azure-faults.release.test.ts"],
      ["src/executors/container-apps/job-container.release.test.ts"],
    ],
    paths: ["src/blob/", "src/executors/container-apps/", "test/servers/azurite.testing.ts"],
    seconds: 30,
  },
  {
    name: "s3",
    processes: [
      ["test/end-to-end/jobs/s3-storage.release.test.ts"],
      ["src/blob/s3/s3-store.release.test.ts"],
      ["src/blob/s3/s3-faults.release.test.ts"],
    ],
    paths: ["src/blob/", "test/servers/seaweedfs.testing.ts", "tools/test-servers/"],
    seconds: 40,
  },
  {
    name: "tracking",
    processes: [["test/tracking/mlflow.release.test.ts"]],
    paths: [
      "src/tracking/",
      "src/service/tracking/",
      "src/cli/jobs/job-tracking.ts",
      "test/tracking/",
      "test/servers/mlflow.testing.ts",
      "tools/test-servers/",
    ],
    seconds: 60,
  },
  {
    name: "audit",
    processes: [["test/planted-faults.release.test.ts"], ["src/audit/truncation/truncation.slow.test.ts"]],
    paths: ["src/audit/", "bench/audit/"],
    seconds: 15,
  },
  {
    name: "doctor",
    processes: [["src/cli/doctor.release.test.ts"]],
    paths: ["src/cli/doctor.ts", "src/engine/environment/", "engine/mucast_engine/status.py"],
    seconds: 10,
  },
  {
    name: "cpu",
    processes: [["test/end-to-end/networks/cpu-environment.release.test.ts"]],
    paths: ["engine/mucast_engine/cpu_only.py", "engine/mucast_engine/status.py", "src/engine/environment/"],
    seconds: 50,
  },
  {
    name: "npm",
    processes: [["scripts/run.release.test.ts"]],
    paths: [
      "package.json",
      "scripts/run.mjs",
      "scripts/parent.mjs",
      "scripts/end-with-parent.mjs",
      "scripts/process-stat.mjs",
      "src/cli/serve.ts",
      "src/cli/terminal/",
    ],
    seconds: 10,
  },
  {
    name: "package",
    processes: [["test/package.release.test.ts"], ["scripts/release/prepare-release.release.test.ts"]],
    paths: [
      "package.json",
      "tsconfig.build.json",
      "bin/",
      "scripts/build.ts",
      "scripts/prepack.ts",
      "src/contract/machine/optional-packages.ts",
      "scripts/tree-commit.ts",
      "scripts/release.ts",
      "scripts/release/",
      "src/client/",
      "test/installed-package.testing.ts",
      "test/npm-registry.testing.ts",
    ],
    seconds: 80,
  },
  {
    name: "engine",
    processes: [],
    hasEngineTests: true,
    paths: ["engine/"],
    seconds: 80,
  },
  {
    name: "services",
    processes: [
      ["test/service/core.slow.test.ts"],
      ["test/service/restarts.slow.test.ts"],
      [
        "src/executors/process/process-executor.slow.test.ts",
        "src/executors/process/warm-process.slow.test.ts",
      ],
      ["src/cli/jobs/run-job.slow.test.ts", "src/cli/replay.slow.test.ts"],
      ["src/engine/pool/pool.slow.test.ts"],
      ["src/engine/pool/pool-deaths.slow.test.ts"],
      ["src/engine/pool/warm-host.slow.test.ts"],
      ["test/service/stops.release.test.ts"],
      ["test/service/oidc-callers.release.test.ts"],
      ["test/service/backup.release.test.ts"],
      ["test/service/full-disk.release.test.ts"],
      ["test/service/keys-command.release.test.ts"],
      ["test/service/signals.release.test.ts"],
    ],
    paths: [
      "src/cli/jobs/",
      "src/engine/pool/",
      "src/executors/process/",
      "src/processes/",
      "src/replay/",
      "src/service/",
      "test/engine/",
      "test/service/",
      "test/servers/",
    ],
    seconds: 140,
  },
  {
    name: "numbers",
    processes: [
      ["test/planted-signals.release.test.ts"],
      [
        "test/end-to-end/regressors/every-model.slow.test.ts",
        "test/end-to-end/twins/refit-twin.slow.test.ts",
      ],
      [
        "test/end-to-end/twins/choice-twin.release.test.ts",
        "test/end-to-end/twins/network-choice-twin.release.test.ts",
      ],
      ["test/planted-warnings.release.test.ts"],
      [
        "src/panel/natural-log.slow.test.ts",
        "test/end-to-end/regressors/panel-settings.slow.test.ts",
        "test/end-to-end/regressors/panel-jobs.slow.test.ts",
        "test/end-to-end/networks/network-blocks.slow.test.ts",
        "test/end-to-end/networks/network-refits.slow.test.ts",
        "test/end-to-end/networks/network-refits-see-no-future.slow.test.ts",
        "test/end-to-end/regressors/refit-jobs.slow.test.ts",
        "test/end-to-end/regressors/candidates.slow.test.ts",
        "test/end-to-end/regressors/candidates-see-no-future.slow.test.ts",
        "test/end-to-end/jobs/what-changes-nothing.slow.test.ts",
      ],
      ["test/end-to-end/jobs/replay-elsewhere.release.test.ts"],
      ["test/end-to-end/faults/full-disk.slow.test.ts"],
      ["test/fuzz/model-params.release.test.ts"],
      ["test/model-params.release.test.ts"],
      ["src/ingest/memory.release.test.ts"],
    ],
    paths: [
      "engine/mucast_engine/",
      "src/contract/model-params/",
      "src/engine/",
      "src/evaluate/",
      "src/ingest/",
      "src/jobs/",
      "src/panel/",
      "src/replay/",
      "src/report/statistics/",
      "test/end-to-end/",
      "test/fuzz/",
      "test/twins/",
      "bench/planted/",
    ],
    seconds: 75,
  },
];

/** Paths that concern every group: other versions of packages, or another way to set up and to run tests. */
const EVERYTHING =
  /(^|\/)package-lock\.json$|^engine\/requirements|^scripts\/(setup|install|test|release)|^\.ci\//;

/** @returns the groups that a change of these paths concerns. */
export function groupsOfPaths(changed: readonly string[]): readonly ReleaseGroup[] {
  if (changed.some((path) => EVERYTHING.test(path))) return RELEASE_GROUPS;
  return RELEASE_GROUPS.filter(({ paths, processes }) =>
    changed.some(
      (path) =>
        paths.some((entry) => isBelow(path, entry)) || processes.some((files) => files.includes(path)),
    ),
  );
}

/** @throws Error if a name is not a group's. */
export function groupsNamed(names: readonly string[]): readonly ReleaseGroup[] {
  const known = RELEASE_GROUPS.map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`no release group is called ${unknown}; there are ${known}`);
  return RELEASE_GROUPS.filter(({ name }) => names.includes(name));
}

/** @returns the files that differ from the parent of the last commit; undefined if Git has no parent. */
export function changedPaths(): readonly string[] | undefined {
  try {
    const said = execFileSync("git", ["diff", "--name-only", "HEAD^1"], { encoding: "utf8", stdio: "pipe" });
    return said.split("\n").filter(Boolean);
  } catch {
    return undefined;
  }
}

function isBelow(path: string, entry: string): boolean {
  return entry.endsWith("/") ? path.startsWith(entry) : path === entry;
}
