/**
 * Everything that has to hold, two checks at a time, since most use one core; all are run, and any failure fails the
 * whole. What a check prints is shown when it has ended; the tests, which come last and take longest, are shown at work.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { findEnvironment } from "../src/engine/environment.ts";

const biome = join("tools/biome/node_modules/@biomejs", `cli-linux-${process.arch}`, "biome");
const engineEnv = { ...process.env, PYTHONPATH: "engine" };
const node = process.execPath;
const python = findEnvironment("dev").python;

/** Files wait for processes and servers about as often as they compute. */
const FILES_AT_A_TIME = availableParallelism() + 1;

type Check = readonly [name: string, command: string, args: readonly string[]];

const TESTS: Check = [
  "tests",
  node,
  ["--test", "--test-reporter=spec", `--test-concurrency=${FILES_AT_A_TIME}`, ...testFiles()],
];

/** The longest first. */
const CHECKS: readonly Check[] = [
  ["engine tests", python, ["-m", "pytest", "-q", "engine/tests"]],
  ["engine types", python, ["-m", "mypy", "--config-file", "engine/pyproject.toml", "engine/mucast_engine"]],
  ["generated files are current", node, ["scripts/generate.ts", "--check"]],
  ["types", node, ["node_modules/typescript/bin/tsc", "-p", "."]],
  ["lint and format", biome, ["ci", "."]],
  ["engine lint", python, ["-m", "ruff", "check", "engine"]],
  ["engine format", python, ["-m", "ruff", "format", "--check", "engine"]],
  TESTS,
];

function testFiles(): string[] {
  return globSync(["src/**/*.test.ts", "test/**/*.test.ts", "scripts/**/*.test.ts"]).sort();
}

/** @returns whether it passed. */
async function run(check: Check): Promise<boolean> {
  const [name, command, args] = check;
  const started = performance.now();
  const isShown = check === TESTS;
  const child = spawn(command, args, {
    stdio: isShown ? "inherit" : ["ignore", "pipe", "pipe"],
    env: engineEnv,
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text) => {
      said += text;
    });
  }
  const [status] = await once(child, "close");
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(
    `\n# ${name}\n${said}# ${name}: ${status === 0 ? "passed" : "FAILED"} in ${seconds} s\n`,
  );
  return status === 0;
}

const waiting = [...CHECKS];
const failed: string[] = [];
async function runWhatWaits(): Promise<void> {
  for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
    if (!(await run(check))) failed.push(check[0]);
  }
}
await Promise.all([runWhatWaits(), runWhatWaits()]);

process.stdout.write(`\n${CHECKS.length - failed.length} passed, ${failed.length} failed\n`);
if (failed.length > 0) process.stdout.write(`failed: ${failed.join(", ")}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
