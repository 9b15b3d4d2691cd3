/** Formats everything, and fixes what the linters can fix. */
import { spawnSync } from "node:child_process";
import { biome, linter, PYTHON_FOLDERS } from "./checks.ts";

const commands: readonly [string, string[]][] = [
  [biome(), ["check", "--write", "."]],
  [linter(), ["-m", "ruff", "format", ...PYTHON_FOLDERS]],
  [linter(), ["-m", "ruff", "check", "--fix", ...PYTHON_FOLDERS]],
];
for (const [command, args] of commands) {
  const { status, error } = spawnSync(command, args, { stdio: "inherit" });
  if (error) throw error;
  if (status !== 0) process.exitCode = 1;
}
