import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { MucastError } from "../../contract/errors/errors.ts";
import { makeFolder } from "../../contract/machine/folders.ts";
import { parseAnswer, runCommand } from "../process-output.ts";
import { importLibraries } from "./engine-status.ts";
import { engineEnvironment } from "./engine-variables.ts";
import {
  type Environment,
  type EnvironmentFlavour,
  environmentFolder,
  installedEnvironment,
  lockFile,
  namedPython,
  STAMP,
} from "./environment.ts";

/** An interpreter of the system that environments are made from. */
interface BasePython {
  /** Absolute path of the interpreter itself, even if a shim was called. */
  readonly path: string;
  readonly version: string;
  readonly major: number;
  readonly minor: number;
  readonly pip: boolean;
}

/** Minor versions of Python 3 for which every locked library has wheels. */
const MINORS = [14, 13, 12, 11];
/** In a name: what is removed by the next set-up if this one is killed. */
const UNFINISHED = ".unfinished-";
/** The number of lines of a failed command to show. */
const LINES_SHOWN = 12;
const SQLITE_BUSY = 5;
const POLL_MILLISECONDS = 200;

/**
 * Makes the environment of `flavour` from its hashed lock, unless it exists; the interpreter of MUCAST_PYTHON is used unchanged. Only one
 * process at a time builds. After a kill at any moment, the next call removes what is unfinished.
 * @param report receives a line for each step.
 * @throws MucastError engine_unavailable if there is no suitable Python, or with the output of uv or pip if that fails.
 */
export async function installEnvironment({
  flavour,
  report,
}: {
  readonly flavour: EnvironmentFlavour;
  readonly report: (line: string) => void;
}): Promise<Environment> {
  const named = namedPython();
  if (named !== undefined) return { python: named };
  const ready = installedEnvironment(flavour);
  if (ready) return ready;
  const base = await findBasePython();
  const folder = environmentFolder(flavour);
  return whileBuildingAlone(dirname(folder), report, async () => {
    const meanwhile = installedEnvironment(flavour);
    if (meanwhile) return meanwhile;
    const started = performance.now();
    report(`setup: making the Python environment (${flavour}) with Python ${base.version} …`);
    const uv = await ensureUv(base);
    await buildFolder(folder, (unfinished) => fillEnvironment(unfinished, flavour, base, uv));
    const seconds = ((performance.now() - started) / 1_000).toFixed(0);
    report(`setup: the Python environment is ready after ${seconds} s`);
    return installedEnvironment(flavour)!;
  });
}

const PROBE = `
import importlib.util, json, platform, sys
print(json.dumps({
    "path": sys.executable, "version": platform.python_version(),
    "major": sys.version_info[0], "minor": sys.version_info[1],
    "pip": importlib.util.find_spec("pip") is not None,
}))`;

/**
 * The first of python3, python3.14, ..., python3.11 on the path that can make the environment.
 * @throws MucastError engine_unavailable, in one sentence that names the interpreters found.
 */
async function findBasePython(): Promise<BasePython> {
  const isFit = ({ major, minor }: BasePython) => major === 3 && MINORS.includes(minor);
  const found: BasePython[] = [];
  for (const name of ["python3", ...MINORS.map((minor) => `python3.${minor}`)]) {
    const { code, stdout } = await runCommand(name, ["-I", "-c", PROBE]);
    const python = code === 0 ? (parseAnswer(stdout, "path") as BasePython | undefined) : undefined;
    if (python === undefined) continue;
    if (isFit(python) && python.pip) return python;
    found.push(python);
  }
  const range = `Python 3.${MINORS.at(-1)} to 3.${MINORS[0]}`;
  const withoutPip = found.find(isFit);
  const others = found.map(({ version, path }) => `Python ${version} at ${path}`).join(", ");
  const fault = withoutPip
    ? `mucast needs ${range} with pip, and Python ${withoutPip.version} at ${withoutPip.path} has no pip; ` +
      "install it (Debian and Ubuntu: apt install python3-pip)"
    : `mucast needs ${range}, and there is ${others ? `only ${others}` : "no python3"} on the path; install one`;
  throw new MucastError("engine_unavailable", fault, { accepted: [range] });
}

/**
 * Runs `body`, which builds or removes folders in `parent`, while no other process does. First removes what killed processes left.
 * @throws MucastError engine_unavailable if the folder cannot hold a lock; errors of `body`.
 */
export async function whileBuildingAlone<T>(
  parent: string,
  report: (line: string) => void,
  body: () => Promise<T>,
): Promise<T> {
  makeFolder(parent);
  const lock = await acquireLock(join(parent, ".set-up-lock"), report);
  try {
    for (const name of readdirSync(parent)) {
      if (name.includes(UNFINISHED)) removeFolder(join(parent, name));
    }
    return await body();
  } finally {
    lock.close();
  }
}

/** Waits for the lock of an empty SQLite file: the kernel owns it, so a kill leaves no stale one. */
async function acquireLock(file: string, report: (line: string) => void): Promise<DatabaseSync> {
  for (let hasReported = false; ; await pause(POLL_MILLISECONDS)) {
    let lock: DatabaseSync | undefined;
    try {
      lock = new DatabaseSync(file, { timeout: 0 });
      lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
      return lock;
    } catch (error) {
      lock?.close();
      if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) {
        const message = `cannot lock ${file}: ${(error as Error).message}`;
        throw new MucastError("engine_unavailable", message, { path: file });
      }
      if (!hasReported) report(`setup: waiting for another set-up, which holds ${file}`);
      hasReported = true;
    }
  }
}

/**
 * Fills a folder beside `folder` and moves it into place, so that a kill at any moment leaves either no `folder` or a complete one.
 * Replaces an older one.
 */
export async function buildFolder(
  folder: string,
  fill: (unfinished: string) => Promise<void>,
): Promise<void> {
  const unfinished = `${folder}${UNFINISHED}${process.pid}`;
  try {
    await fill(unfinished);
    writeFileSync(join(unfinished, STAMP), `${JSON.stringify({ made: new Date().toISOString() })}\n`);
    if (existsSync(folder)) discardFolder(folder);
    renameSync(unfinished, folder);
  } catch (error) {
    removeFolder(unfinished);
    throw error;
  }
}

/** Removes a folder under a name that the next set-up removes if this process is killed. */
export function discardFolder(folder: string): void {
  const aside = `${folder}${UNFINISHED}old-${process.pid}`;
  renameSync(folder, aside);
  removeFolder(aside);
}

/** Retries if a child of a killed set-up is still writing into the folder. */
function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** @returns the path of uv, installed by pip from its own hashed lock. */
async function ensureUv(base: BasePython): Promise<string> {
  const folder = environmentFolder("uv");
  if (!existsSync(join(folder, STAMP))) {
    await buildFolder(folder, async (unfinished) => {
      const install = ["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"];
      const pinned = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", lockFile("uv")];
      // Settings of the user that conflict with --target.
      const env = { ...process.env, PIP_USER: "0", PIP_REQUIRE_VIRTUALENV: "0" };
      await runOrThrow("pip", base.path, [...install, ...pinned, "--target", unfinished], env);
    });
  }
  return join(folder, "bin", "uv");
}

async function fillEnvironment(
  folder: string,
  flavour: EnvironmentFlavour,
  base: BasePython,
  uv: string,
): Promise<void> {
  // Relocatable, because it is moved into place once it is complete.
  await runOrThrow("uv", uv, ["venv", "--quiet", "--relocatable", "--python", base.path, folder]);
  const python = join(folder, "bin", "python");
  const sync = ["pip", "sync", "--quiet", "--require-hashes", "--no-build"];
  await runOrThrow("uv", uv, [...sync, "--python", python, lockFile(flavour)]);
  // Compiles only what jobs import: all modules of torch would take 300 MB and several times as long.
  await importLibraries(python, flavour);
  if (flavour !== "dl-cpu") return;
  // Removes what PyTorch opens only on a GPU from packages of the lock, and checks that it still starts.
  const env = engineEnvironment();
  await runOrThrow("PyTorch", python, ["-s", "-P", "-m", "mucast_engine.cpu_only"], env);
  await runOrThrow("PyTorch", python, ["-s", "-P", "-c", "import mucast_engine.networks.tasks"], env);
}

async function runOrThrow(
  tool: string,
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  const { code, stderr } = await runCommand(command, args, env);
  if (code === 0) return;
  const output = stderr.trim().split("\n").slice(-LINES_SHOWN).join("\n");
  const lock = args.find((argument) => argument.endsWith(".txt"));
  throw new MucastError(
    "engine_unavailable",
    `${tool} could not set up the Python environment${lock ? ` from ${basename(lock)}` : ""}: ${output}`,
  );
}
