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

function environmentsFor(script, scriptArgs) {
  if (script === "scripts/test.ts" || script === "scripts/generate.ts") return ["ml", "dev"];
  if (script === "src/cli/main.ts")
    return scriptArgs[0] === "run_ml_job" && !scriptArgs.includes("--help") ? ["ml"] : [];
  return ["ml"];
}
