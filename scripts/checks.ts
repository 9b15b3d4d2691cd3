/** The checks that are not TypeScript tests: each is a command, and fails if its exit status is not 0. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { findEnvironment } from "../src/engine/environment/environment.ts";
import { runConcurrently } from "./test-files.ts";

/** The command is looked up when the check starts, because its environment may be created until then. */
export type Check = readonly [name: string, command: () => string, args: readonly string[]];

/** Much more than any of them takes, even on a busy machine. */
const MAX_MINUTES = 20;

const biome = () => join("tools/biome/node_modules/@biomejs", `cli-linux-${process.arch}`, "biome");
const node = () => process.execPath;
const linter = () => findEnvironment("lint").python;
const python = () => findEnvironment("dev").python;

/** The folders of Python that is linted, each with its own settings. */
export const PYTHON_FOLDERS = ["engine", "clients/python"];

/** The compiler caches its results by the content of each file. */
const ONLY_WHAT_CHANGED = ["--incremental", "--tsBuildInfoFile", ".tsc_cache/tsconfig.tsbuildinfo"];

/** Checks that take seconds, and do not need PyTorch. */
export function quickChecks(): readonly Check[] {
  return [
    ["budgets of lines and words", node, ["scripts/budgets.ts"]],
    ["generated files are current", node, ["scripts/generate.ts", "--check"]],
    ["types", node, ["node_modules/typescript/bin/tsc", "-p", ".", ...ONLY_WHAT_CHANGED, "--singleThreaded"]],
    [
      "types of the console",
      node,
      ["node_modules/typescript/bin/tsc", "-p", "src/console", "--singleThreaded"],
    ],
    ["lint and format", biome, ["ci", "."]],
    ["Python lint", linter, ["-m", "ruff", "check", ...PYTHON_FOLDERS]],
    ["Python format", linter, ["-m", "ruff", "format", "--check", ...PYTHON_FOLDERS]],
  ];
}

/** Tests of the engine by pytest's markers, which engine/pyproject.toml explains. */
function engineTests(marked: string): Check {
  return [`engine tests, ${marked}`, python, ["-m", "pytest", "-q", "-m", marked, "engine/tests"]];
}

/** Checks of the engine that need its libraries; the longest first. */
export function engineChecks(): readonly Check[] {
  return [
    engineTests("not cluster and not release"),
    [
      "engine types",
      python,
      ["-m", "mypy", "--config-file", "engine/pyproject.toml", "engine/mucast_engine"],
    ],
  ];
}

/** The tests of the engine that only the release tier runs. */
export const ENGINE_RELEASE_TESTS: Check = engineTests("release and not cluster");

/**
 * Shows what a check prints once it has ended.
 * @param maxMinutes after which a check is killed, and fails.
 * @returns the names of those that failed.
 */
export async function runChecks(
  checks: readonly Check[],
  atATime: number,
  maxMinutes = MAX_MINUTES,
): Promise<string[]> {
  const failed: string[] = [];
  await runConcurrently(checks, atATime, async (check) => {
    if (!(await passes(check, maxMinutes))) failed.push(check[0]);
  });
  return failed;
}

async function passes([name, command, args]: Check, maxMinutes: number): Promise<boolean> {
  const started = performance.now();
  const child = spawn(command(), args, {
    stdio: ["ignore", "pipe", "pipe"],
    // Python keeps its compiled cache of the libraries, as it does by default.
    env: { ...process.env, PYTHONPATH: "engine", PYTHONDONTWRITEBYTECODE: "" },
    timeout: maxMinutes * 60_000,
    killSignal: "SIGKILL",
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      said += text;
    });
  }
  const [status, signal] = await once(child, "close");
  const end = status === 0 ? "passed" : signal ? `was killed by ${signal}` : "FAILED";
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  process.stdout.write(`\n# ${name}\n${said}# ${name}: ${end} in ${seconds} s\n`);
  return status === 0;
}
