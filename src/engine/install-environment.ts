import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { MucastError } from "../contract/errors.ts";
import { type BasePython, findBasePython } from "./base-python.ts";
import { runCommand } from "./command.ts";
import {
  type Environment,
  type EnvironmentFlavour,
  environmentFolder,
  installedEnvironment,
  lockFile,
  namedPython,
  STAMP,
} from "./environment.ts";
import { withSetUpLock } from "./set-up-lock.ts";

export interface InstallOptions {
  readonly flavour: EnvironmentFlavour;
  /** Gets what there is to tell, line by line. */
  readonly report: (line: string) => void;
}

const UNFINISHED = ".unfinished-";

/**
 * Makes the environment of `flavour` from its hashed lock, unless it is there; the interpreter of MUCAST_PYTHON is
 * taken as it is. An environment is built beside its place and moved there whole, by one process at a time, so a
 * kill at any moment leaves nothing that the next call does not clear away.
 * @throws MucastError engine_unavailable where there is no fit Python, or where uv or pip fails, with their words.
 */
export async function installEnvironment({ flavour, report }: InstallOptions): Promise<Environment> {
  const named = namedPython();
  if (named !== undefined) return { python: named };
  const ready = installedEnvironment(flavour);
  if (ready) return ready;
  const base = await findBasePython();
  const parent = dirname(environmentFolder(flavour));
  mkdirSync(parent, { recursive: true });
  const onWait = () => report("setup: another set-up is at work here; waiting for it");
  return withSetUpLock(base.path, join(parent, ".lock"), onWait, async () => {
    const meanwhile = installedEnvironment(flavour);
    if (meanwhile) return meanwhile;
    clearUnfinished(parent);
    const started = performance.now();
    report(`setup: making the Python environment (${flavour}) with Python ${base.version} …`);
    const uv = await ensureUv(base);
    await build(environmentFolder(flavour), (folder) => fillEnvironment(folder, flavour, base, uv));
    report(`setup: the Python environment is ready after ${seconds(started)}`);
    return installedEnvironment(flavour)!;
  });
}

/** uv of the pinned version, installed by pip from its own hashed lock. */
async function ensureUv(base: BasePython): Promise<string> {
  const folder = environmentFolder("uv");
  if (!existsSync(join(folder, STAMP))) {
    await build(folder, async (unfinished) => {
      const install = ["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"];
      const pinned = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", lockFile("uv")];
      const env = { ...process.env, PIP_USER: "0", PIP_REQUIRE_VIRTUALENV: "0" };
      await orThrow("pip", base.path, [...install, ...pinned, "--target", unfinished], env);
    });
  }
  return join(folder, "bin", "uv");
}

/** Fills a folder beside `folder`, then moves it into place; the stamp tells that all of it is there. */
async function build(folder: string, fill: (unfinished: string) => Promise<void>): Promise<void> {
  const unfinished = `${folder}${UNFINISHED}${process.pid}`;
  try {
    await fill(unfinished);
    writeFileSync(join(unfinished, STAMP), `${JSON.stringify({ made: new Date().toISOString() })}\n`);
    discard(folder);
    renameSync(unfinished, folder);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    throw error;
  }
}

async function fillEnvironment(
  folder: string,
  flavour: EnvironmentFlavour,
  base: BasePython,
  uv: string,
): Promise<void> {
  // Relocatable, because it is moved into place when it is whole.
  await orThrow("uv", uv, ["venv", "--quiet", "--relocatable", "--python", base.path, folder]);
  const sync = ["pip", "sync", "--quiet", "--require-hashes", "--no-build", "--compile-bytecode"];
  await orThrow("uv", uv, [...sync, "--python", join(folder, "bin", "python"), lockFile(flavour)]);
}

/** Takes away what is at the place of an environment but is none, such as one whose interpreter was removed. */
function discard(folder: string): void {
  if (!existsSync(folder)) return;
  const aside = `${folder}${UNFINISHED}old-${process.pid}`;
  renameSync(folder, aside);
  rmSync(aside, { recursive: true, force: true });
}

/** What killed set-ups left; the lock is held, so none of it is anybody's. */
function clearUnfinished(parent: string): void {
  for (const name of readdirSync(parent)) {
    if (name.includes(UNFINISHED))
      rmSync(join(parent, name), { recursive: true, force: true, maxRetries: 3 });
  }
}

async function orThrow(
  tool: string,
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  const { code, stderr } = await runCommand(command, args, env);
  if (code === 0) return;
  const words = stderr.trim().split("\n").slice(-LINES_SHOWN).join("\n");
  throw new MucastError(
    "engine_unavailable",
    `${tool} could not set up the Python environment from ${basename(args.at(-1)!)}: ${words}`,
    { path: args.at(-1)! },
  );
}

const LINES_SHOWN = 12;

function seconds(since: number): string {
  return `${((performance.now() - since) / 1_000).toFixed(0)} s`;
}
