/** Formats everything, and fixes what the linters can fix. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { findEnvironment } from "../src/engine/environment/environment.ts";
import { PYTHON_FOLDERS } from "./checks.ts";

const python = findEnvironment("lint").python;
const commands: [string, string[]][] = [
  [
    join("tools/biome/node_modules/@biomejs", `cli-linux-${process.arch}`, "biome"),
    ["check", "--write", "."],
  ],
  [python, ["-m", "ruff", "format", ...PYTHON_FOLDERS]],
  [python, ["-m", "ruff", "check", "--fix", ...PYTHON_FOLDERS]],
];
for (const [command, args] of commands) {
  const { status, error } = spawnSync(command, args, { stdio: "inherit" });
  if (error) throw error;
  if (status !== 0) process.exitCode = 1;
}
