/**
 * The name of a test file shows its tier: `*.test.ts` is fast and starts nothing, `*.slow.test.ts` starts a process, a
 * server or a database, or computes for seconds, and `*.release.test.ts` belongs to the release tier
 * (release-groups.ts).
 */
import { globSync } from "node:fs";

/**
 * Slow files that take longest, the longest first: they start first, so that no core waits for one of them at the end. Paths without
 * `.slow.test.ts`, here and below.
 */
const LONGEST: readonly string[] = [
  "test/end-to-end/regressors/every-model",
  "test/service/core",
  "test/service/restarts",
  "test/service/shared-database",
  "src/service/operations/operations",
  "src/service/queue/recovery",
  "src/engine/pool/pool",
  "src/service/database/database",
  "src/executors/process/job-deaths",
];

/**
 * Slow files that share a process, including what takes longer to start than most of their tests: the modules of the service
 * or the engines of test/end-to-end/jobs/shared-engines.ts. A path that ends with / is all slow files below that
 * folder. Their `before` and `after` outside of a `describe` apply to the whole process.
 */
const TOGETHER: readonly (readonly string[])[] = [
  [
    "test/end-to-end/jobs/outputs-of-0.2",
    "test/end-to-end/jobs/warned-jobs",
    "test/end-to-end/jobs/what-changes-nothing",
    "test/end-to-end/networks/",
    "test/end-to-end/regressors/",
    "test/end-to-end/twins/",
  ],
  [
    "src/service/auth/",
    "src/service/blobs/",
    "src/service/operations/",
    "src/service/report/",
    "src/service/readiness",
  ],
  ["src/service/queue/dispatcher", "src/service/webhooks/"],
  ["src/executors/process/"],
  [
    ...["src/cli/audit", "src/cli/choose", "src/cli/completion", "src/cli/export", "src/cli/jobs/"],
    ...["src/cli/outputs/", "src/cli/replay", "src/cli/report"],
  ],
  ["test/service/refusals", "test/service/secrets", "test/service/who-may"],
  ["src/audit/", "test/end-to-end/jobs/audit-foresight-skill"],
  ["src/service/database/"],
  ["src/service/http/", "src/service/mcp/"],
  ["src/blob/folder/", "src/blob/open-blob", "src/blob/remote/"],
  ["src/executors/container-apps/"],
  ["src/replay/"],
  ["src/service/telemetry/"],
  ["src/client/", "src/contract/", "src/engine/npy", "src/jobs/shared/"],
];

/** The test files of each tier. */
export interface TestFiles {
  readonly fast: readonly string[];
  /** By process. */
  readonly slow: readonly (readonly string[])[];
  readonly release: readonly string[];
}

/** @throws Error if a list names a missing file. */
export function testFiles(): TestFiles {
  const all = globSync(["src/**/*.test.ts", "test/**/*.test.ts", "scripts/**/*.test.ts"]).sort();
  const slow = all.filter((file) => file.endsWith(".slow.test.ts"));
  const missing = [...LONGEST, ...TOGETHER.flat()].filter(
    (entry) => !slow.some((file) => isNamed(file, [entry])),
  );
  if (missing.length > 0) throw new Error(`scripts/test-tiers.ts names no slow test file by ${missing}`);
  const release = all.filter((file) => file.endsWith(".release.test.ts"));
  return {
    fast: all.filter((file) => !slow.includes(file) && !release.includes(file)),
    slow: byProcess(longestFirst(slow)),
    release,
  };
}

/** In the order of the first file of each process. */
function byProcess(files: readonly string[]): readonly (readonly string[])[] {
  const processOf = (file: string) => TOGETHER.find((group) => isNamed(file, group)) ?? file;
  return [...Map.groupBy(files, processOf).values()];
}

function longestFirst(files: readonly string[]): readonly string[] {
  const longest = LONGEST.flatMap((entry) => files.filter((file) => isNamed(file, [entry])));
  return [...longest, ...files.filter((file) => !longest.includes(file))];
}

function isNamed(file: string, entries: readonly string[]): boolean {
  return entries.some((entry) =>
    entry.endsWith("/") ? file.startsWith(entry) : file === `${entry}.slow.test.ts`,
  );
}
