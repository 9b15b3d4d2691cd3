import { availableParallelism } from "node:os";
import { engineChecks, quickChecks, runChecks } from "./checks.ts";
import { testFiles } from "./slow-tests.ts";
import { type FileRun, runConcurrently, runTestFiles, type Starts } from "./test-files.ts";

const CORES = availableParallelism();

/** Files that start something wait about as often as they compute. */
const SLOW_AT_A_TIME = CORES + 1;

/** The checks that take seconds, then the tests that start nothing. @returns the names of what failed. */
export async function runQuickHalf(): Promise<string[]> {
  const checks = await runChecks(quickChecks(), CORES);
  const { fast } = testFiles();
  const spent = { processorSeconds: 0 };
  const files = await runFiles(dealt(fast, CORES), CORES, "refuse", spent);
  tellSpent(spent);
  return [...checks, ...files];
}

/** The engine's checks, and beside them the tests that start something or compute long. @returns the names of what failed. */
export async function runSlowHalf(): Promise<string[]> {
  const failed: string[] = [];
  const spent = { processorSeconds: 0 };
  const checks = engineChecks().map((check) => () => runChecks([check], 1));
  const files = testFiles().slow.map((group) => () => runFiles([group], 1, "allow", spent));
  // The checks are the longest, so they come first.
  await runConcurrently([...checks, ...files], SLOW_AT_A_TIME, async (run) => {
    failed.push(...(await run()));
  });
  tellSpent(spent);
  return failed;
}

export function tellFailures(failed: readonly string[]): void {
  const lines = failed.map((name) => `  ${name}\n`).join("");
  process.stdout.write(lines === "" ? "\nall passed\n" : `\nfailed:\n${lines}`);
}

/** Grows with each test file that ends. */
interface Spent {
  processorSeconds: number;
}

async function runFiles(
  groups: readonly (readonly string[])[],
  atATime: number,
  starts: Starts,
  spent: Spent,
): Promise<string[]> {
  const failed: string[] = [];
  await runTestFiles(groups, atATime, starts, (run) => {
    if (!run.passed) failed.push(nameOf(run));
    spent.processorSeconds += run.processorSeconds ?? 0;
    tell(run);
  });
  return failed;
}

function tellSpent({ processorSeconds }: Spent): void {
  process.stdout.write(`# these tests took ${processorSeconds.toFixed(0)} processor seconds\n`);
}

/** Of a run that failed, what it printed; of one of several files the failing tests alone. */
function tell(run: FileRun): void {
  const { files, passed, seconds, processorSeconds } = run;
  const failing = files.length > 1 ? run.said.lastIndexOf("failing tests:") : 0;
  const said = run.said.slice(Math.max(0, failing));
  const processor = processorSeconds === undefined ? "" : `, ${processorSeconds.toFixed(1)} of a processor`;
  const end = `${passed ? "passed" : "FAILED"} in ${seconds.toFixed(1)} s${processor}`;
  process.stdout.write(`${passed ? "" : said}# ${nameOf(run)}: ${end}\n`);
}

/** Fast files are named by their number: there are hundreds. */
function nameOf({ files, starts }: FileRun): string {
  return files.length === 1 || starts === "allow" ? files.join(", ") : `${files.length} fast test files`;
}

/** Into as many hands as there are. */
function dealt(files: readonly string[], hands: number): string[][] {
  return Array.from({ length: hands }, (_, hand) => files.filter((_, i) => i % hands === hand));
}
