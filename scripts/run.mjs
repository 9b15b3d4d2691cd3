// `node scripts/run.mjs FILE [ARG ...]`: does the set-up that FILE needs, then runs it on Node 24, where `mucast/client` is
// the client's source: what the package carries, dist/, is not there in a checkout.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import { ensureSetup, orExplain } from "./setup.mjs";

const JOB_NEEDS = new Map([
  ["run_ml_job", ["ml"]],
  ["run_dl_job", ["dl"]],
  // The lines of curl that it prints run a job.
  ["serve", ["ml"]],
]);

const [file, ...args] = process.argv.slice(2);
const node = orExplain(() => ensureSetup(environmentsFor(file, args)));

// TypeScript is stripped of its types at every start; what has been made of it is kept for the next one.
const cache = fileURLToPath(new URL("../node_modules/.cache/mucast/compiled", import.meta.url));
const env = { NODE_COMPILE_CACHE: cache, ...process.env };
const child = spawn(node, ["--conditions=mucast-source", file, ...args], { stdio: "inherit", env });
// A terminal's Ctrl-C reaches the child too; what is sent to this process alone is handed on.
process.on("SIGINT", () => undefined);
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));

/** The Python environments that a script needs; a program of someone's own needs none. */
function environmentsFor(script, scriptArgs) {
  const needs = {
    "bench/main.ts": ["ml", "dl", "dev"],
    "scripts/demo.ts": ["ml", "dl"],
    "scripts/test.ts": ["ml", "dl", "dev"],
    "scripts/fuzz.ts": ["ml"],
    "scripts/generate.ts": ["ml"],
    "scripts/lock-python.ts": ["ml"],
    "scripts/format.ts": ["dev"],
    "src/cli/main.ts": scriptArgs.includes("--help") ? [] : (JOB_NEEDS.get(scriptArgs[0]) ?? []),
  };
  return needs[script] ?? [];
}
