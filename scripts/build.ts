/** Compiles src/ into dist/, which is what the npm package carries. */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";

rmSync("dist", { recursive: true, force: true });
// The console is compiled with the types of a browser, and brings the client, which the second run writes again.
for (const project of ["src/console/tsconfig.build.json", "tsconfig.build.json"]) {
  const { status, error } = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", project], {
    stdio: ["ignore", 2, 2],
  });
  if (error) throw error;
  process.exitCode ||= status ?? 1;
}
