// `node scripts/run.mjs FILE [ARG ...]`: does the set-up that FILE needs, then runs it on Node 24, where `mucast/client` is
// the client's source: what the package carries, dist/, is not there in a checkout. FILE is asked to end (SIGTERM) when
// this process is, and when the one that has started it, such as npm or a shell, is gone.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { isatty } from "node:tty";
import { fileURLToPath } from "node:url";
import { whenParentEnds } from "./parent.mjs";
import { descendantsOf, isInForeground, processOf } from "./process-stat.mjs";
import { ensureSetup, orExplain } from "./setup.mjs";

const JOB_NEEDS = new Map([
  ["run_ml_job", ["ml"]],
  ["run_dl_job", ["dl"]],
  // The lines of curl that it prints run a job.
  ["serve", ["ml"]],
]);

/** What runs FILE, once the set-up is done. */
let child;
let isAsked = false;
/** What FILE had started when it was first asked to end. */
let started = [];

const unfollow = whenParentEnds(() => {
  // The steps of the set-up end with this process.
  if (child === undefined) process.exit(128 + constants.signals.SIGTERM);
  if (!isAsked) end("SIGTERM");
});

const [file, ...args] = process.argv.slice(2);
const node = await orExplain(() => ensureSetup(environmentsFor(file, args)));

// TypeScript is stripped of its types at every start; what has been made of it is kept for the next one.
const cache = fileURLToPath(new URL("../node_modules/.cache/mucast/compiled", import.meta.url));
const env = { NODE_COMPILE_CACHE: cache, ...process.env };
const followUs = new URL("./end-with-parent.mjs", import.meta.url).href;
child = spawn(node, ["--conditions=mucast-source", "--import", followUs, file, ...args], {
  stdio: "inherit",
  env,
});

// Looked at now: one that is closed is none any more.
const hasTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor));

// A terminal's Ctrl-C reaches the child too, which would take another SIGINT for a second Ctrl-C. Without a terminal the child
// takes the SIGTERM for the same request, where it has had SIGINT itself.
process.on("SIGINT", () => {
  if (!(isInForeground() ?? hasTerminal)) end("SIGTERM");
});
process.on("SIGTERM", () => end("SIGTERM"));
process.on("SIGHUP", () => {
  if (hasTerminal) end("SIGHUP");
  // The terminal is gone of what nohup started to outlive it; npm may have ended by that.
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

/** The Python environments that a script needs; a program of someone's own needs none. */
function environmentsFor(script, scriptArgs) {
  const needs = {
    "bench/main.ts": ["ml", "dl", "ray", "dev"],
    "scripts/demo.ts": ["ml", "dl"],
    "scripts/check.ts": ["ml", "lint"],
    // As the quick half needs it; beside that half it does the rest itself.
    "scripts/test.ts": ["ml", "lint"],
    "scripts/test-release.ts": ["ml", "lint"],
    "scripts/cluster.ts": ["ml", "dl", "ray", "dev"],
    "scripts/stress.ts": ["ml", "dl", "ray", "dev"],
    "scripts/failover.ts": ["ml"],
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
