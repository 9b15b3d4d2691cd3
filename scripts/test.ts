/**
 * Everything that has to hold, two checks at a time, since most use one core, and then the test files; all are run, and
 * any failure fails the whole. What a check prints is shown when it has ended, and what a test file prints where it failed.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { findEnvironment } from "../src/engine/environment/environment.ts";
import { type FileRun, runTestFiles } from "./test-files.ts";

const biome = join("tools/biome/node_modules/@biomejs", `cli-linux-${process.arch}`, "biome");
const engineEnv = { ...process.env, PYTHONPATH: "engine" };
const node = process.execPath;
const python = findEnvironment("dev").python;

/** Files wait for processes and servers about as often as they compute. */
const FILES_AT_A_TIME = availableParallelism() + 1;

/** Far more than any of them takes. */
const MINUTES_AT_MOST = 20;

type Check = readonly [name: string, command: string, args: readonly string[]];

/** The longest first. */
const CHECKS: readonly Check[] = [
  ["engine tests", python, ["-m", "pytest", "-q", "engine/tests"]],
  ["engine types", python, ["-m", "mypy", "--config-file", "engine/pyproject.toml", "engine/mucast_engine"]],
  ["generated files are current", node, ["scripts/generate.ts", "--check"]],
  ["types", node, ["node_modules/typescript/bin/tsc", "-p", "."]],
  ["lint and format", biome, ["ci", "."]],
  ["engine lint", python, ["-m", "ruff", "check", "engine"]],
  ["engine format", python, ["-m", "ruff", "format", "--check", "engine"]],
];

function testFiles(): string[] {
  return globSync(["src/**/*.test.ts", "test/**/*.test.ts", "scripts/**/*.test.ts"]).sort();
}

/** @returns whether it passed. */
async function run([name, command, args]: Check): Promise<boolean> {
  const started = performance.now();
  const child = spawn(command, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: engineEnv,
    timeout: MINUTES_AT_MOST * 60_000,
    killSignal: "SIGKILL",
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      said += text;
    });
  }
  const [status, signal] = await once(child, "close");
  const end = status === 0 ? "passed" : signal ? `was ended by ${signal}` : "FAILED";
  process.stdout.write(`\n# ${name}\n${said}# ${name}: ${end} in ${secondsSince(started)} s\n`);
  return status === 0;
}

/** Of a file that failed, all that it printed. */
function tell({ file, passed, said, seconds }: FileRun): void {
  const shown = passed ? "" : `${said}`;
  process.stdout.write(`${shown}# ${file}: ${passed ? "passed" : "FAILED"} in ${seconds.toFixed(1)} s\n`);
}

function secondsSince(started: number): string {
  return ((performance.now() - started) / 1_000).toFixed(1);
}

const waiting = [...CHECKS];
const failed: string[] = [];
async function runWhatWaits(): Promise<void> {
  for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
    if (!(await run(check))) failed.push(check[0]);
  }
}
await Promise.all([runWhatWaits(), runWhatWaits()]);
const files = testFiles();
failed.push(...(await runTestFiles(files, FILES_AT_A_TIME, tell)));

const count = CHECKS.length + files.length;
process.stdout.write(`\n${count - failed.length} passed, ${failed.length} failed\n`);
if (failed.length > 0) process.stdout.write(`failed:\n${failed.map((name) => `  ${name}\n`).join("")}`);
process.exitCode = failed.length === 0 ? 0 : 1;
