/**
 * Runs test files again and again beside busy loops, and says which failed: `npm run stress -- [FILE …]`. Without names it
 * runs all that start something. --times is 20, --loops is 2, and --lanes, how many files run at a time, is 1.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { parseArgs } from "node:util";
import { startsSomething, testFiles } from "./slow-tests.ts";
import { runConcurrently, runTestFile } from "./test-files.ts";

const MINUTES_AT_MOST = 30;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    times: { type: "string", default: "20" },
    loops: { type: "string", default: "2" },
    lanes: { type: "string", default: "1" },
  },
});
const times = Number(values.times);
const files = positionals.length > 0 ? positionals : testFiles().slow.flat().filter(startsSomething);

// Each ends with this process, also where that is killed: its stdin is closed then.
const busy =
  "process.stdin.on('end', () => process.exit()).resume(); (function turn() { for (let i = 0; i < 1e7; i++); setImmediate(turn); })();";
const loops = Array.from(
  { length: Number(values.loops) },
  (): ChildProcess => spawn(process.execPath, ["-e", busy], { stdio: ["pipe", "ignore", "inherit"] }),
);
const failures = new Map<string, number>();
try {
  await runConcurrently(files, Number(values.lanes), async (file) => {
    for (let time = 1; time <= times; time++) {
      const run = await runTestFile([file], AbortSignal.timeout(MINUTES_AT_MOST * 60_000));
      if (run.passed) continue;
      failures.set(file, (failures.get(file) ?? 0) + 1);
      process.stdout.write(`${run.said}# ${file}: FAILED, run ${time} of ${times}\n`);
    }
    process.stdout.write(`# ${file}: ${failures.get(file) ?? 0} of ${times} runs failed\n`);
  });
} finally {
  for (const loop of loops) loop.kill();
}
process.exitCode = failures.size === 0 ? 0 : 1;
