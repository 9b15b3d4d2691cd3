/** Everything that has to hold, one check after the other; all are run, and any failure fails the whole. */
import { spawnSync } from "node:child_process";
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

const CHECKS: readonly (readonly [name: string, command: string, args: readonly string[]])[] = [
  ["generated files are current", node, ["scripts/generate.ts", "--check"]],
  ["types", node, ["node_modules/typescript/bin/tsc", "-p", "."]],
  ["lint and format", biome, ["ci", "."]],
  ["engine lint", python, ["-m", "ruff", "check", "engine"]],
  ["engine format", python, ["-m", "ruff", "format", "--check", "engine"]],
  ["engine types", python, ["-m", "mypy", "--config-file", "engine/pyproject.toml", "engine/mucast_engine"]],
  ["engine tests", python, ["-m", "pytest", "-q", "engine/tests"]],
  [
    "tests",
    node,
    ["--test", "--test-reporter=spec", `--test-concurrency=${FILES_AT_A_TIME}`, ...testFiles()],
  ],
];

function testFiles(): string[] {
  return globSync(["src/**/*.test.ts", "test/**/*.test.ts", "scripts/**/*.test.ts"]).sort();
}

const failed: string[] = [];
for (const [name, command, args] of CHECKS) {
  const started = performance.now();
  process.stdout.write(`\n# ${name}\n`);
  const { status, error } = spawnSync(command, args, { stdio: "inherit", env: engineEnv });
  if (error) throw error;
  if (status !== 0) failed.push(name);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(`# ${name}: ${status === 0 ? "passed" : "FAILED"} in ${seconds} s\n`);
}
process.stdout.write(`\n${CHECKS.length - failed.length} passed, ${failed.length} failed\n`);
if (failed.length > 0) process.stdout.write(`failed: ${failed.join(", ")}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
