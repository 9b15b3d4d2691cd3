// `node scripts/run.mjs FILE [ARG ...]`: does the set-up that FILE needs, then runs it on Node 24, where `mucast/client` resolves
// to the client's source: the package's dist/ does not exist in a checkout. Asks FILE to end (SIGTERM) when this process is asked
// to, and when the process that started this one, such as npm or a shell, is gone.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { resolve } from "node:path";
import { isatty } from "node:tty";
import { fileURLToPath } from "node:url";
import { whenParentEnds } from "./parent.mjs";
import { descendantsOf, isInForeground, processOf } from "./process-stat.mjs";
import { ensureSetup, orExplain } from "./setup.mjs";

const JOB_NEEDS = new Map([
  ["run_ml_job", ["ml"]],
  ["run_dl_job", ["networks"]],
  ["forecast", ["ml"]],
  // The lines of curl that it prints run a job.
  ["serve", ["ml"]],
]);

/** The process that runs FILE, once the set-up is done. */
let child;
let isAsked = false;
/** The processes that FILE had started when it was first asked to end. */
let started = [];

const unfollow = whenParentEnds(() => {
  // The steps of the set-up end with this process.
  if (child === undefined) process.exit(128 + constants.signals.SIGTERM);
  if (!isAsked) end("SIGTERM");
});

const [file, ...args] = process.argv.slice(2);
// npm runs scripts in the folder of the package; a command of the product resolves paths from where the person stands.
const cwd = file === "src/cli/main.ts" ? (process.env.INIT_CWD ?? process.cwd()) : process.cwd();
const node = await orExplain(() => ensureSetup(environmentsFor(file, args)));

// Node strips the types from TypeScript at every start; the compiled result is kept for the next start.
const cache = fileURLToPath(new URL("../node_modules/.cache/mucast/compiled", import.meta.url));
const env = { NODE_COMPILE_CACHE: cache, ...process.env };
const followUs = new URL("./end-with-parent.mjs", import.meta.url).href;
child = spawn(node, ["--conditions=mucast-source", "--import", followUs, resolve(file), ...args], {
  cwd,
  stdio: "inherit",
  env,
});

// Checked now: once closed, a terminal is no longer recognised.
const hasTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor));

// A terminal's Ctrl-C also reaches the child, which would treat another SIGINT as a second Ctrl-C. Without a terminal, the child
// treats the SIGTERM as the same request if it has already received SIGINT itself.
process.on("SIGINT", () => {
  if (!(isInForeground() ?? hasTerminal)) end("SIGTERM");
});
process.on("SIGTERM", () => end("SIGTERM"));
process.on("SIGHUP", () => {
  if (hasTerminal) end("SIGHUP");
  // nohup started this process to outlive its terminal, which is gone; npm may have ended because of that.
  else unfollow();
});
child.on("exit", (code, signal) => {
  for (const { pid, start } of started) {
    if (processOf(pid)?.start === start) process.kill(pid, "SIGTERM");
  }
  process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
});

function end(signal) {
  if (!isAsked) started = descendantsOf(child.pid);
  isAsked = true;
  child.kill(signal);
}

/** The Python environments that a script needs; any other program needs none. */
function environmentsFor(script, scriptArgs) {
  const needs = {
    "bench/main.ts": ["ml", "dl", "ray", "dev"],
    "scripts/demo.ts": ["ml", "dl"],
    "scripts/check.ts": ["ml", "lint"],
    // What the quick half needs; the script sets up the rest while that half runs.
    "scripts/test.ts": ["ml", "lint"],
    "scripts/test-release.ts": ["ml", "lint"],
    "scripts/cluster.ts": ["ml", "dl", "ray", "dev"],
    "scripts/stress.ts": ["ml", "dl", "ray", "dev"],
    "test/chaos/chaos.ts": ["ml"],
    "scripts/fuzz.ts": ["ml"],
    "scripts/generate.ts": ["ml"],
    "scripts/lock-python.ts": ["ml"],
    "scripts/format.ts": ["lint"],
    "src/cli/main.ts": scriptArgs.includes("--help") ? [] : environmentsOfJob(scriptArgs),
  };
  return needs[script] ?? [];
}

/** A job on a cluster needs what its nodes have, and nothing else. */
function environmentsOfJob([command, ...options]) {
  const needed = JOB_NEEDS.get(command) ?? [];
  const isOnCluster =
    process.env.MUCAST_ENGINE_URL || options.some((option) => /^--engine(=|$)/.test(option));
  return command?.startsWith("run_") && isOnCluster ? ["ray"] : needed;
}
