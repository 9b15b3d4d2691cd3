import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { type Check, ENGINE_RELEASE_TESTS, engineChecks, quickChecks, runChecks } from "./checks.ts";
import { processorSeconds } from "./processor-seconds.ts";
import type { ReleaseGroup } from "./release-groups.ts";
import { type FileRun, runConcurrently, runTestFiles, type Starts } from "./test-files.ts";
import { testFiles } from "./test-tiers.ts";

const CORES = availableParallelism();

/** A file that starts something keeps half a core busy; the rest of the time it waits. */
const AT_A_TIME = CORES + 3;

/** A check, or the tests of a process. @returns the names of those that failed. */
type Work = () => Promise<string[]>;

/** The tests that start nothing, in parallel with the checks that take seconds. @returns the names of those that failed. */
export async function runQuickHalf(): Promise<string[]> {
  const failed = await runAll(quickWork(CORES), CORES);
  tellSpent();
  return failed;
}

/**
 * The quick half, in parallel with the set-up for the slow half, then the engine's checks and the tests that start something or
 * compute for long, which start as soon as the quick half leaves a core idle.
 * @param onQuick gets the names of what failed in the quick half, when that has ended.
 * @returns the names of all that failed.
 */
export function runBothHalves(onQuick: (failed: readonly string[]) => void): Promise<string[]> {
  return runAllTiers([], onQuick);
}

/** The same, followed by all tests of the release groups that are not in the slow half. */
export async function runAllTiers(
  groups: readonly ReleaseGroup[],
  onQuick: (failed: readonly string[]) => void,
): Promise<string[]> {
  // One process loads the sources first, while the other lanes start with the rest.
  const quick = quickWork(1);
  const failedQuick: string[] = [];
  let left = quick.length;
  const told = quick.map((work) => async () => {
    const failed = await work();
    failedQuick.push(...failed);
    if (--left === 0) onQuick(failedQuick);
    return failed;
  });
  const isSetUp = setUpAll();
  const setUp = async () => ((await isSetUp) ? [] : ["the set-up; without it the slow half was not run"]);
  const { slow } = testFiles();
  const inSlow = new Set(slow.flat());
  const release = groups.flatMap(({ processes, ...group }) =>
    groupWork({ ...group, processes: processes.filter((files) => !files.every((file) => inSlow.has(file))) }),
  );
  const started = [...slowWork(slow), ...release].map((work) => async () => ((await isSetUp) ? work() : []));
  const failed = await runAll([setUp, ...told, ...started], AT_A_TIME);
  tellSpent();
  return failed;
}

/** Enough on a machine that is half as fast. */
const SPARE = 2;

/**
 * One group after the other, once everything is set up.
 * @param until a group that might not end before this time, in milliseconds since 1970, does not start and is named.
 * @returns the names of those that failed.
 */
export async function runReleaseGroups(groups: readonly ReleaseGroup[], until: number): Promise<string[]> {
  if (groups.length > 0 && !(await setUpAll())) return ["the set-up; without it no release group was run"];
  const failed: string[] = [];
  for (const group of groups) {
    const { name, seconds } = group;
    if (Date.now() + SPARE * seconds * 1_000 > until) {
      process.stdout.write(
        `# release group ${name}: left out for lack of time; npm run test:release -- ${name}\n`,
      );
      continue;
    }
    process.stdout.write(`# release group ${name}\n`);
    failed.push(...(await runAll(groupWork(group), AT_A_TIME)));
  }
  tellSpent();
  return failed;
}

/**
 * Installs everything that tests need, if it is missing. @returns whether everything is installed; the reason for a failure is on
 * stderr.
 */
async function setUpAll(): Promise<boolean> {
  const endsWithUs = new URL("./end-with-parent.mjs", import.meta.url).href;
  const setUp = ["--import", endsWithUs, "scripts/setup.mjs", "--dev"];
  const [status] = await once(spawn(process.execPath, setUp, { stdio: ["ignore", 2, 2] }), "close");
  return status === 0;
}

/** The longest first. @param hands number of processes that share the fast files. */
function quickWork(hands: number): Work[] {
  const fast = dealt(testFiles().fast, hands).map((files) => () => runFiles(files, "refuse"));
  return [...fast, ...quickChecks().map(checked)];
}

/** The checks are the longest, so they come first. */
function slowWork(processes: readonly (readonly string[])[]): Work[] {
  return [...engineChecks().map(checked), ...filesWork(processes)];
}

function groupWork({ processes, hasEngineTests = false }: ReleaseGroup): Work[] {
  return [...(hasEngineTests ? [checked(ENGINE_RELEASE_TESTS)] : []), ...filesWork(processes)];
}

function filesWork(processes: readonly (readonly string[])[]): Work[] {
  return processes.map((files) => () => runFiles(files, "allow"));
}

function checked(check: Check): Work {
  return () => runChecks([check], 1);
}

async function runAll(work: readonly Work[], atATime: number): Promise<string[]> {
  const failed: string[] = [];
  await runConcurrently(work, atATime, async (run) => {
    failed.push(...(await run()));
  });
  return failed;
}

export function printFailures(failed: readonly string[]): void {
  const lines = failed.map((name) => `  ${name}\n`).join("");
  process.stdout.write(lines === "" ? "\nall passed\n" : `\nfailed:\n${lines}`);
}

async function runFiles(files: readonly string[], starts: Starts): Promise<string[]> {
  const failed: string[] = [];
  await runTestFiles([files], 1, starts, (run) => {
    if (!run.passed) failed.push(nameOf(run));
    tell(run);
  });
  return failed;
}

/** With the checks, and with the set-up if something was missing. */
function tellSpent(): void {
  process.stdout.write(`# all of this took ${processorSeconds().toFixed(0)} processor seconds\n`);
}

/** For a failed run, its output; for one of several files, only the failing tests. */
function tell(run: FileRun): void {
  const { files, passed, seconds, processorSeconds } = run;
  const failing = files.length > 1 ? run.said.lastIndexOf("failing tests:") : 0;
  const said = run.said.slice(Math.max(0, failing));
  const processor = processorSeconds === undefined ? "" : `, ${processorSeconds.toFixed(1)} of a processor`;
  const end = `${passed ? "passed" : "FAILED"} in ${seconds.toFixed(1)} s${processor}`;
  process.stdout.write(`${passed ? "" : said}# ${nameOf(run)}: ${end}\n`);
}

/** Fast files are reported by their number, because there are hundreds. */
function nameOf({ files, starts }: FileRun): string {
  return files.length === 1 || starts === "allow" ? files.join(", ") : `${files.length} fast test files`;
}

/** Into as many shares as there are processes. */
function dealt(files: readonly string[], hands: number): string[][] {
  return Array.from({ length: hands }, (_, hand) => files.filter((_, i) => i % hands === hand));
}
