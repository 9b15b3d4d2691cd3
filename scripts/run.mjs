// `node scripts/run.mjs FILE [ARG ...]`: does the set-up that FILE needs, then runs it on Node 24.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { ensureSetup, orExplain } from "./setup.mjs";

const [file, ...args] = process.argv.slice(2);
const node = orExplain(() => ensureSetup(environmentsFor(file, args)));

const child = spawn(node, [file, ...args], { stdio: "inherit" });
// A terminal's Ctrl-C reaches the child too; what is sent to this process alone is handed on.
process.on("SIGINT", () => undefined);
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));

/** The Python environments that a script needs. */
function environmentsFor(script, scriptArgs) {
  const needs = {
    "scripts/build.ts": [],
    "scripts/test.ts": ["ml", "dev"],
    "scripts/generate.ts": ["ml", "dev"],
    "scripts/format.ts": ["dev"],
    "src/cli/main.ts": scriptArgs[0] === "run_ml_job" && !scriptArgs.includes("--help") ? ["ml"] : [],
  };
  return needs[script] ?? ["ml"];
}
