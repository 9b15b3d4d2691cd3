/** Compiles src/ into dist/, which is the contents of the npm package. */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";

/** Four checkers take the same time as one, for twice the work. */
const ONE_CHECKER = ["--checkers", "1"];

rmSync("dist", { recursive: true, force: true });
// The console is compiled with the types of a browser, and includes the client, which the second run writes again.
for (const project of ["src/console/tsconfig.build.json", "tsconfig.build.json"]) {
  const words = ["node_modules/typescript/bin/tsc", "-p", project, ...ONE_CHECKER];
  const { status, error } = spawnSync(process.execPath, words, { stdio: ["ignore", 2, 2] });
  if (error) throw error;
  process.exitCode ||= status ?? 1;
}
