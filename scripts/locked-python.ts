import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { environmentFolder } from "../src/engine/environment/environment.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/**
 * Python of a separate environment, created from a hashed lock at the first run, whenever the lock has changed, and if its Python is gone.
 * Programs of its packages are run as `python -m`: a script in `bin` names the folder in which the environment was created, and fails once
 * the tree has moved.
 * @param base the folder that contains the environment.
 */
export function lockedPython(name: string, lock: string, base = join(ROOT, ".mucast")): string {
  const folder = join(base, name);
  const python = join(folder, "bin", "python");
  const marker = join(folder, "installed.txt");
  const wanted = createHash("sha256").update(readFileSync(lock)).digest("hex");
  // A link to a missing interpreter does not exist.
  if (existsSync(python) && existsSync(marker) && readFileSync(marker, "utf8") === wanted) return python;
  process.stderr.write(`making the environment ${name} …\n`);
  rmSync(folder, { recursive: true, force: true });
  const uv = join(environmentFolder("uv"), "bin", "uv");
  run(uv, ["venv", "--quiet", folder]);
  run(uv, ["pip", "sync", "--quiet", "--require-hashes", "--no-build", "--python", python, lock]);
  writeFileSync(marker, wanted);
  return python;
}

/** Python of the environment that has what the Python client and its tests need. */
export function clientEnvironment(): string {
  return lockedPython("python-client", join(ROOT, "clients/python/requirements-dev.txt"));
}

function run(command: string, args: readonly string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: ["ignore", 2, 2] });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ${args[0]} ended with exit code ${status}`);
}
