/**
 * Runs test files repeatedly beside busy loops, and reports which failed: `npm run stress -- [FILE …]`. Without names it runs all slow
 * tests, in the processes of a whole run. --times is 20, --loops is 2, and --lanes, the number of parallel processes, is 1.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { parseArgs } from "node:util";
import { runConcurrently, runTestFile } from "./test-files.ts";
import { testFiles } from "./test-tiers.ts";

const MAX_MINUTES = 30;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    times: { type: "string", default: "20" },
    loops: { type: "string", default: "2" },
    lanes: { type: "string", default: "1" },
  },
});
const times = Number(values.times);
const groups: readonly (readonly string[])[] =
  positionals.length > 0 ? positionals.map((file) => [file]) : testFiles().slow;

// Each ends with this process, even if it is killed, because that closes their stdin.
const busy =
  "process.stdin.on('end', () => process.exit()).resume(); (function turn() { for (let i = 0; i < 1e7; i++); setImmediate(turn); })();";
const loops = Array.from(
  { length: Number(values.loops) },
  (): ChildProcess => spawn(process.execPath, ["-e", busy], { stdio: ["pipe", "ignore", "inherit"] }),
);
const rounds = Array.from({ length: times }, (_, round) =>
  groups.map((files) => ({ files, round: round + 1 })),
);
const left = rounds.map((round) => round.length);
const failed: string[] = [];
try {
  await runConcurrently(rounds.flat(), Number(values.lanes), async ({ files, round }) => {
    const run = await runTestFile(files, AbortSignal.timeout(MAX_MINUTES * 60_000));
    if (!run.passed) {
      failed.push(`${files}`);
      process.stdout.write(`${run.said}# ${files}: FAILED in round ${round}\n`);
    }
    left[round - 1]! -= 1;
    if (left[round - 1] === 0)
      process.stdout.write(`# round ${round} of ${times}: ${failed.length} failed so far\n`);
  });
} finally {
  for (const loop of loops) loop.kill();
}
for (const files of new Set(failed)) {
  process.stdout.write(
    `# ${files}: ${failed.filter((other) => other === files).length} of ${times} runs failed\n`,
  );
}
process.exitCode = failed.length === 0 ? 0 : 1;
