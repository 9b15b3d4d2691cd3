import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { MucastError } from "../../contract/errors/errors.ts";
import { userFolder } from "../../contract/machine/folders.ts";

/**
 * `ml` has the libraries of run_ml_job, `dl` adds torch for run_dl_job, `dl-cpu` is `dl` without what only a GPU needs, `ray` adds Ray to
 * `dl` for both jobs on a cluster, `dev` adds what the engine's tests need, and `lint` has only its linter.
 */
const FLAVOURS = ["ml", "dl", "dl-cpu", "ray", "dev", "lint"] as const;

export type EnvironmentFlavour = (typeof FLAVOURS)[number];

/** The environments that set-up makes: one for each flavour, and one for uv, which makes the others. */
export const ENVIRONMENT_NAMES = [...FLAVOURS, "uv"] as const;

type EnvironmentName = (typeof ENVIRONMENT_NAMES)[number];

/** The environments of the two jobs on this machine. */
export type JobEnvironment = "ml" | "dl";

/** The command that makes each environment that a user needs. */
export const SETUP_COMMANDS = {
  ml: "mucast setup",
  dl: "mucast setup --dl",
  "dl-cpu": "mucast setup --dl --cpu",
  ray: "mucast setup --ray",
} as const;

/** The environments that a user needs: those of jobs on this machine, and that of jobs on a cluster. */
export type UserEnvironment = keyof typeof SETUP_COMMANDS;

export interface Environment {
  /** Path of its interpreter. */
  readonly python: string;
}

/** Two folders up, both here and in the compiled package. */
const PACKAGE_FOLDER = fileURLToPath(new URL("../../..", import.meta.url));

/** Names an existing interpreter, which mucast uses without changing it. */
export const PYTHON_VARIABLE = "MUCAST_PYTHON";

/** The hashed lock of a flavour. */
export function lockFile(name: EnvironmentName): string {
  return join(PACKAGE_FOLDER, "engine", `requirements-${name}.txt`);
}

/**
 * The path of an environment, whether it exists or not. Its name contains the hash of its lock, so another version of mucast makes another
 * one. It is in the checkout, or, for an installed package, which has no tsconfig.json, in the user's cache.
 */
export function environmentFolder(name: EnvironmentName): string {
  const isCheckout = existsSync(join(PACKAGE_FOLDER, "tsconfig.json"));
  const parent = isCheckout
    ? join(PACKAGE_FOLDER, ".mucast")
    : join(userFolder("XDG_CACHE_HOME", process.env), "mucast");
  return join(parent, "env", `${name}-${digestOf(name).slice(0, 16)}`);
}

function digestOf(name: EnvironmentName): string {
  return createHash("sha256")
    .update(readFileSync(lockFile(name)))
    .digest("hex");
}

/**
 * SHA-256 of the lock that the environment of a flavour is made of; null if MUCAST_PYTHON names another one. For `dl` also where `dl-cpu`
 * stands in for it: its packages are of the same lock, and outputs are the same.
 */
export function lockSha256(flavour: EnvironmentFlavour): string | null {
  return namedPython() === undefined ? digestOf(flavour) : null;
}

/** A file in an environment that was built completely. */
export const STAMP = "mucast-environment.json";

/** The interpreter named in MUCAST_PYTHON. A relative path starts here; a bare name is looked up in PATH. */
export function namedPython(): string | undefined {
  const named = process.env[PYTHON_VARIABLE];
  if (!named) return undefined;
  return named.includes(sep) ? resolve(named) : named;
}

/** The installed environment of a flavour, even if MUCAST_PYTHON is set; undefined if its interpreter was removed. */
export function installedEnvironment(flavour: EnvironmentFlavour): Environment | undefined {
  const folder = environmentFolder(flavour);
  const python = join(folder, "bin", "python");
  return existsSync(join(folder, STAMP)) && existsSync(python) ? { python } : undefined;
}

/** The flavour whose environment is used: `dl-cpu` for `dl` if only that is installed. */
export function servingFlavour(flavour: EnvironmentFlavour): EnvironmentFlavour {
  if (flavour !== "dl" || installedEnvironment("dl")) return flavour;
  return installedEnvironment("dl-cpu") ? "dl-cpu" : "dl";
}

/**
 * The environment to use: the interpreter of MUCAST_PYTHON, else the installed one. Starts and changes nothing.
 * @throws MucastError engine_unavailable if there is none.
 */
export function findEnvironment(flavour: EnvironmentFlavour = "ml"): Environment {
  const named = namedPython();
  if (named !== undefined) return { python: named };
  const found = installedEnvironment(servingFlavour(flavour));
  if (found) return found;
  const command = { ...SETUP_COMMANDS, dev: "npm test", lint: "npm run check" }[flavour];
  throw new MucastError(
    "engine_unavailable",
    `there is no Python environment at ${environmentFolder(flavour)}; \`${command}\` makes it, ` +
      `or ${PYTHON_VARIABLE} names a ready interpreter`,
    { path: environmentFolder(flavour) },
  );
}

/** Files of NVIDIA's driver, of a container that was given a device, and of WSL, which passes on the device of Windows. */
const NVIDIA_FILES = ["/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg"];

/** Whether this machine has, or may have, a GPU that PyTorch can use. PyTorch's package has CUDA only on Linux. */
export function mayHaveNvidiaDevice(): boolean {
  return process.platform !== "linux" || NVIDIA_FILES.some((path) => existsSync(path));
}
