import { basename, dirname, join } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { type BasePython, findBasePython } from "./base-python.ts";
import { buildFolder, isBuilt, whileBuildingAlone } from "./build-folder.ts";
import { importLibraries } from "./engine-status.ts";
import { engineEnvironment } from "./engine-variables.ts";
import {
  type Environment,
  type EnvironmentFlavour,
  environmentFolder,
  installedEnvironment,
  lockFile,
  namedPython,
} from "./environment.ts";
import { runCommand } from "./run-command.ts";

interface InstallOptions {
  readonly flavour: EnvironmentFlavour;
  /** Receives a line for each step. */
  readonly report: (line: string) => void;
}

/** The number of lines of a failed command to show. */
const LINES_SHOWN = 12;

/**
 * Makes the environment of `flavour` from its hashed lock, unless it exists; the interpreter of MUCAST_PYTHON is used unchanged. Only one
 * process at a time builds. After a kill at any moment, the next call removes what is unfinished.
 * @throws MucastError engine_unavailable if there is no suitable Python, or with the output of uv or pip if that fails.
 */
export async function installEnvironment({ flavour, report }: InstallOptions): Promise<Environment> {
  const named = namedPython();
  if (named !== undefined) return { python: named };
  const ready = installedEnvironment(flavour);
  if (ready) return ready;
  const base = await findBasePython();
  const folder = environmentFolder(flavour);
  return whileBuildingAlone(base.path, dirname(folder), report, async () => {
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

/** The pinned version of uv, installed by pip from its own hashed lock. */
async function ensureUv(base: BasePython): Promise<string> {
  const folder = environmentFolder("uv");
  if (!isBuilt(folder)) {
    await buildFolder(folder, async (unfinished) => {
      const install = ["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"];
      const pinned = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", lockFile("uv")];
      // Settings of the user that conflict with --target.
      const env = { ...process.env, PIP_USER: "0", PIP_REQUIRE_VIRTUALENV: "0" };
      await orThrow("pip", base.path, [...install, ...pinned, "--target", unfinished], env);
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
  await orThrow("uv", uv, ["venv", "--quiet", "--relocatable", "--python", base.path, folder]);
  const python = join(folder, "bin", "python");
  const sync = ["pip", "sync", "--quiet", "--require-hashes", "--no-build"];
  await orThrow("uv", uv, [...sync, "--python", python, lockFile(flavour)]);
  // Compiles only what jobs import: all modules of torch would take 300 MB and several times as long.
  await importLibraries(python, flavour);
  if (flavour === "dl-cpu") await leaveOutCuda(python);
}

/** Removes what PyTorch opens only on a GPU from packages of the lock, and checks that it still starts. */
async function leaveOutCuda(python: string): Promise<void> {
  const env = engineEnvironment();
  await orThrow("PyTorch", python, ["-s", "-P", "-m", "mucast_engine.cpu_only"], env);
  await orThrow("PyTorch", python, ["-s", "-P", "-c", "import mucast_engine.networks.tasks"], env);
}

async function orThrow(
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
