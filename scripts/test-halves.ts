import { availableParallelism } from "node:os";
import { engineChecks, quickChecks, runChecks } from "./checks.ts";
import { testFiles } from "./slow-tests.ts";
import { type FileRun, runTestFiles, type Starts } from "./test-files.ts";

const CORES = availableParallelism();

/** Files that start something wait about as often as they compute. */
const SLOW_FILES_AT_A_TIME = CORES + 1;

/** The checks that take seconds, then the tests that start nothing. @returns the names of what failed. */
export async function runQuickHalf(): Promise<string[]> {
  const checks = await runChecks(quickChecks(), CORES);
  const { fast } = testFiles();
  return [...checks, ...(await runFiles(dealt(fast, CORES), CORES, "refuse"))];
}

/** The engine's checks, then the tests that start something or compute long. @returns the names of what failed. */
export async function runSlowHalf(): Promise<string[]> {
  const checks = await runChecks(engineChecks(), CORES);
  const { slow } = testFiles();
  const files = slow.map((file) => [file]);
  return [...checks, ...(await runFiles(files, SLOW_FILES_AT_A_TIME, "allow"))];
}

export function tellFailures(failed: readonly string[]): void {
  const lines = failed.map((name) => `  ${name}\n`).join("");
  process.stdout.write(lines === "" ? "\nall passed\n" : `\nfailed:\n${lines}`);
}

async function runFiles(
  groups: readonly (readonly string[])[],
  atATime: number,
  starts: Starts,
): Promise<string[]> {
  const failed: string[] = [];
  let processor = 0;
  await runTestFiles(groups, atATime, starts, (run) => {
    if (!run.passed) failed.push(nameOf(run));
    processor += run.processorSeconds ?? 0;
    tell(run);
  });
  process.stdout.write(`# these tests took ${processor.toFixed(0)} processor seconds\n`);
  return failed;
}

/** Of a run that failed, what it printed; of one of many files the failing tests alone. */
function tell(run: FileRun): void {
  const { files, passed, seconds, processorSeconds } = run;
  const failing = files.length > 1 ? run.said.lastIndexOf("failing tests:") : 0;
  const said = run.said.slice(Math.max(0, failing));
  const processor = processorSeconds === undefined ? "" : `, ${processorSeconds.toFixed(1)} of a processor`;
  const end = `${passed ? "passed" : "FAILED"} in ${seconds.toFixed(1)} s${processor}`;
  process.stdout.write(`${passed ? "" : said}# ${nameOf(run)}: ${end}\n`);
}

function nameOf({ files }: FileRun): string {
  return files.length === 1 ? files[0]! : `${files.length} fast test files`;
}

/** Into as many hands as there are. */
function dealt(files: readonly string[], hands: number): string[][] {
  return Array.from({ length: hands }, (_, hand) => files.filter((_, i) => i % hands === hand));
}
