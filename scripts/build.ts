/** Compiles src/ into dist/, which is what the npm package carries. */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";

rmSync("dist", { recursive: true, force: true });
const { status, error } = spawnSync(
  process.execPath,
  ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"],
  { stdio: ["ignore", 2, 2] },
);
if (error) throw error;
process.exitCode = status ?? 1;
